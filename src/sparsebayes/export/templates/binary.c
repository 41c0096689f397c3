@api@void @name@_predict_proba(const @name@_real *x, @name@_real *p)
{
    @real@ z[1];

    @name@_margins(x, z);
    p[0] = @name@_sigmoid(-z[0]);
    p[1] = @name@_sigmoid(z[0]);
}

@api@int @name@_predict(const @name@_real *x)
{
    @real@ z[1];

    @name@_margins(x, z);
    return z[0] > 0;
}
