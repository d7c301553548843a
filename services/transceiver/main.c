/* main.c - placeholder until the service is written */
int main(void)
{
    return 1;
}
