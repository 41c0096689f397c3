/* The smallest program around a model: features come in, a class and its probability go out, by memory. */
#include "model.h"

volatile model_real features[MODEL_N_FEATURES];
volatile model_real probability;
volatile int label;

int main(void)
{
    static model_real x[MODEL_N_FEATURES], p[MODEL_N_CLASSES];
    int i;

    for (;;) {
        for (i = 0; i < MODEL_N_FEATURES; i++)
            x[i] = features[i];
        label = model_predict(x);
        model_predict_proba(x, p);
        probability = p[label];
    }
}
