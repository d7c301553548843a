/* main.c - earshotctl, the operator's command line */
#include "tools/earshotctl/command.h"

int main(int argc, char **argv)
{
    return command_run(argc, argv);
}
