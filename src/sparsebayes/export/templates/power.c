@static@@real@ @name@_power(@real@ base, unsigned degree)
{
    @real@ product = 1;

    while (degree-- > 0)
        product *= base;
    return product;
}
