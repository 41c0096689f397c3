/* Variance of the margin of problem k over the posterior of its weights. */
@static@@real@ @name@_variance(size_t k, const @real@ *f)
{
    const size_t start = @name@_starts[k], n = @name@_starts[k + 1] - start;
    const size_t size = n + @name@_has_intercept[k];
    const @real@ *covariance = @name@_covariances + @name@_covariance_starts[k];
    @real@ c[@largest@];
    @real@ sum = 0;
    size_t i, j;

    for (i = 0; i < size; i++)
        c[i] = i < n ? f[@name@_columns[start + i]] - @name@_centres[start + i] : 1;
    for (i = 0; i < size; i++) {
        @real@ row = 0;

        if (@name@_is_diagonal[k]) {
            sum += c[i] * c[i] * covariance[i];
            continue;
        }
        for (j = 0; j < i; j++)
            row += *covariance++ * c[j];
        sum += c[i] * (2 * row + *covariance++ * c[i]);
    }
    return sum;
}
