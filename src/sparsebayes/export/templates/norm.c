    @real@ squares = 0, norm;

    for (i = 0; i < @n_inputs@; i++) {
        const @real@ a = @input@;

        squares += a * a;
    }
    norm = squares > 0 ? @sqrt@(squares) : 1;
