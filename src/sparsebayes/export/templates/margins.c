@api@void @name@_margins(const @name@_real *x, @name@_real *z)
{
    size_t k, j;
@evaluate@
    for (k = 0; k < @NAME@_N_PROBLEMS; k++) {
        @real@ sum = 0;

        for (j = @name@_starts[k]; j < @name@_starts[k + 1]; j++)
            sum += @term@;
        z[k] = @margin@;
    }
}
