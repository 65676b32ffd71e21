# In a clone `snakemake` finds this file; catalogues and modules use the included one.


include: "workflow/Snakefile"


# The engine drops the default target of an included file.
rule default:
    default_target: True
    input:
        rules.all.input,
