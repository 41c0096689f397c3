/* f[k] = @activation@(<weights of node k, x> + bias k). */
@static@void @name@_functions(const @real@ *x, @real@ *f)
{
    size_t k, i;

    for (k = 0; k < @n_functions@; k++) {
        @real@ sum = 0;

        for (i = 0; i < @n_inputs@; i++)
            sum += @weight@ * x[i];
        sum = @sum@;
        f[k] = @finish@;
    }
}
