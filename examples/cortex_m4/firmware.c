/* The smallest program around a model: features come in and a class goes out through memory. */
#include "model.h"

volatile model_real features[MODEL_N_FEATURES];
volatile int label;

int main(void)
{
    static model_real x[MODEL_N_FEATURES];
    int i;

    for (;;) {
        for (i = 0; i < MODEL_N_FEATURES; i++)
            x[i] = features[i];
        label = model_predict(x);
    }
}
