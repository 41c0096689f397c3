/* Prints what the model says of the rows in rows.h, as bits in hexadecimal, by semihosting; and how much of
 * the stack that took at most. A line a row: class, margins, probabilities. */
#include <stdint.h>
#include <string.h>

#include "model.h"

#include "rows.h" /* static const model_real rows[N_ROWS][MODEL_N_FEATURES]; */

enum { WRITE0 = 0x04, EXIT = 0x18, STOPPED = 0x20026, PAINT = 0xA5, PAINTED = 64 * 1024, MARGIN = 64 };

static int semihosting(int operation, const void *argument)
{
    register int r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;

    __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void print_bits(const void *value, unsigned size)
{
    const unsigned char *bytes = value;
    char text[2 * sizeof(double) + 2];
    unsigned i;

    for (i = 0; i < size; i++) {
        text[2 * i] = "0123456789abcdef"[bytes[size - 1 - i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[bytes[size - 1 - i] & 15];
    }
    text[2 * size] = ' ';
    text[2 * size + 1] = 0;
    semihosting(WRITE0, text);
}

static unsigned char *stack_pointer(void)
{
    unsigned char *pointer;

    __asm volatile("mov %0, sp" : "=r"(pointer));
    return pointer;
}

int main(void)
{
    unsigned char *const top = stack_pointer() - MARGIN, *at = top - PAINTED;
    static model_real z[MODEL_N_PROBLEMS], p[MODEL_N_CLASSES];
    int label, row, i;
    uint32_t used;

    memset(at, PAINT, PAINTED);
    for (row = 0; row < N_ROWS; row++) {
        label = model_predict(rows[row]);
        model_margins(rows[row], z);
        model_predict_proba(rows[row], p);
        print_bits(&label, sizeof label);
        for (i = 0; i < MODEL_N_PROBLEMS; i++)
            print_bits(&z[i], sizeof z[i]);
        for (i = 0; i < MODEL_N_CLASSES; i++)
            print_bits(&p[i], sizeof p[i]);
        semihosting(WRITE0, "\n");
        if (row == 0) {
            while (*at == PAINT && at < top)
                at++;
            used = (uint32_t)(top - at) + MARGIN;
        }
    }
    semihosting(WRITE0, "stack ");
    print_bits(&used, sizeof used);
    semihosting(WRITE0, "\n");
    semihosting(EXIT, (const void *)STOPPED);
    return 0;
}
