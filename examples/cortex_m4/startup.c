/* The least that a Cortex-M4 needs before main(): vectors, memory, floating point. */
#include <stdint.h>

extern uint32_t stack_top[], data_start[], data_end[], data_image[], bss_start[], bss_end[];
int main(void);
void reset(void);

/* exp() may set errno; the C library's own comes with a kilobyte of state that nothing else here needs. */
static int error_number;
int *__errno(void);

int *__errno(void)
{
    return &error_number;
}

static void halt(void)
{
    for (;;)
        ;
}

void reset(void)
{
    volatile uint32_t *const cpacr = (volatile uint32_t *)0xE000ED88u; /* coprocessor access control */
    uint32_t *to, *from = data_image;

    *cpacr |= 0xFu << 20; /* the FPU */
    __asm volatile("dsb\n\tisb");
    for (to = data_start; to < data_end;)
        *to++ = *from++;
    for (to = bss_start; to < bss_end;)
        *to++ = 0;
    main();
    halt();
}

typedef union {
    uint32_t *stack;
    void (*handler)(void);
} Vector;

/* The stack, reset, NMI and four faults; this program uses no other interrupt. */
__attribute__((section(".vectors"), used)) static const Vector vectors[16] = {
    {.stack = stack_top}, {.handler = reset}, {.handler = halt}, {.handler = halt},
    {.handler = halt},    {.handler = halt},  {.handler = halt},
};
