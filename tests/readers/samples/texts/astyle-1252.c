/* The Kingfisher gauge, über Nacht. */
int level(void)
{
    int a=1;
    if(a)
    {
        a=42;
    }
    return a;
}
/* The Kingfisher gauge, über Nacht. */
int level(void)
{
    int a=1;
    if(a)
    {
        a=42;
    }
    return a;
}
