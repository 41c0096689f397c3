/* One against one: pairwise coupling (Wu, Lin & Weng 2004). p solves Q p = b 1 with sum(p) = 1, where
 * Q_ii = sum of r_si^2 over s, Q_ij = -r_ij r_ji, and r_ij is the probability of i if it is i or j. */
@api@void @name@_predict_proba(const @name@_real *x, @name@_real *p)
{
    enum { K = @NAME@_N_CLASSES, SIZE = K + 1 };
    const @real@ least = @least_pair@;
    @real@ z[@NAME@_N_PROBLEMS], q[SIZE][SIZE + 1], sum = 0;
    size_t i, j, k, pair = 0;

    @name@_margins(x, z);
    for (i = 0; i < SIZE; i++)
        for (j = 0; j <= SIZE; j++)
            q[i][j] = (i == K || j == K) && i != j ? 1 : 0;
    for (i = 0; i < SIZE; i++)
        q[i][SIZE] = i == K ? 1 : 0;
    for (i = 0; i < K; i++)
        for (j = i + 1; j < K; j++, pair++) {
            @real@ first = @name@_sigmoid(-z[pair]), second = @name@_sigmoid(z[pair]);

            first = first < least ? least : first > 1 - least ? 1 - least : first;
            second = second < least ? least : second > 1 - least ? 1 - least : second;
            q[i][i] += second * second;
            q[j][j] += first * first;
            q[i][j] = q[j][i] = -first * second;
        }
    /* Elimination with the largest pivot of each column. */
    for (k = 0; k < SIZE; k++) {
        size_t pivot = k;

        for (i = k + 1; i < SIZE; i++)
            if ((q[i][k] < 0 ? -q[i][k] : q[i][k]) > (q[pivot][k] < 0 ? -q[pivot][k] : q[pivot][k]))
                pivot = i;
        for (j = k; j <= SIZE; j++) {
            const @real@ swapped = q[k][j];

            q[k][j] = q[pivot][j];
            q[pivot][j] = swapped;
        }
        for (i = k + 1; i < SIZE; i++) {
            const @real@ factor = q[i][k] / q[k][k];

            for (j = k; j <= SIZE; j++)
                q[i][j] -= factor * q[k][j];
        }
    }
    for (k = SIZE; k-- > 0;) {
        for (j = k + 1; j < SIZE; j++)
            q[k][SIZE] -= q[k][j] * q[j][SIZE];
        q[k][SIZE] /= q[k][k];
    }
    for (k = 0; k < K; k++) {
        p[k] = q[k][SIZE] < @least@ ? @least@ : q[k][SIZE];
        sum += p[k];
    }
    for (k = 0; k < K; k++)
        p[k] /= sum;
}

@api@int @name@_predict(const @name@_real *x)
{
    @real@ p[@NAME@_N_CLASSES];
    int best = 0, k;

    @name@_predict_proba(x, p);
    for (k = 1; k < @NAME@_N_CLASSES; k++)
        best = p[k] > p[best] ? k : best;
    return best;
}
