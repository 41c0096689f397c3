/* f[k] = x[feature k]. */
@static@void @name@_functions@part@(const @real@ *x, @real@ *f)
{
    size_t k;

    for (k = 0; k < @n_functions@; k++)
        f[k] = x[@name@_features@part@[k]];
}
