/* One against the rest: probabilities in proportion to those of the binary problems. */
@api@void @name@_predict_proba(const @name@_real *x, @name@_real *p)
{
    @real@ z[@NAME@_N_PROBLEMS], largest, sum = 0;
    size_t k;

    @name@_margins(x, z);
    largest = z[0];
    for (k = 1; k < @NAME@_N_CLASSES; k++)
        largest = z[k] > largest ? z[k] : largest;
    for (k = 0; k < @NAME@_N_CLASSES; k++) {
        /* Where all margins are negative, exp(largest) is a common factor, which may underflow. */
        p[k] = largest < 0 ? @exp@(z[k] - largest) * @name@_sigmoid(-z[k]) : @name@_sigmoid(z[k]);
        sum += p[k];
    }
    for (k = 0; k < @NAME@_N_CLASSES; k++)
        p[k] /= sum;
}

@api@int @name@_predict(const @name@_real *x)
{
    @real@ z[@NAME@_N_PROBLEMS];
    int best = 0, k;

    @name@_margins(x, z);
    for (k = 1; k < @NAME@_N_CLASSES; k++)
        best = z[k] > z[best] ? k : best;
    return best;
}
