/* f[k] = K(x, vector k), where K is @formula@. */
@static@void @name@_functions(const @real@ *x, @real@ *f)
{
    size_t k, i;
@before@
    for (k = 0; k < @n_functions@; k++) {
        @real@ sum = 0;
@entry@
        for (i = 0; i < @n_inputs@; i++) {
            const @real@ a = @input@;
            const @real@ b = @vector@;

            sum += @term@;
        }
        f[k] = @finish@;
    }
}
