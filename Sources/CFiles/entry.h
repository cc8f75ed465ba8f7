// The entry of the file PATH in the list of files.
{PATH, (const unsigned char[]){
#embed PATH
}, sizeof (const unsigned char[]){
#embed PATH
}},
#undef PATH
