@static@@real@ @name@_sigmoid(@real@ z)
{
    const @real@ decay = @exp@(z < 0 ? z : -z);

    return (z < 0 ? decay : 1) / (1 + decay);
}
