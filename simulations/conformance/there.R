# The peer's side of every row in R: Rscript there.R JOB FOLDER OUT. A job has a folder of files KEY.R, whose first line
# is a comment with the name of the table; the value of the last expression is the number.
arguments <- commandArgs(trailingOnly = TRUE)
out <- file(arguments[3], "w")
for (path in sort(Sys.glob(file.path(arguments[1], "*.R")))) {
  key <- sub("\\.R$", "", basename(path))
  lines <- readLines(path)
  code <- parse(text = lines[-1])
  run <- function() {
    space <- new.env()
    assign("d", table, space)
    suppressMessages(suppressWarnings(eval(code, space)))
  }
  table <- read.csv(file.path(arguments[2], paste0(sub("^# ", "", lines[1]), ".csv")))
  said <- tryCatch({
    value <- as.numeric(run())
    time <- median(replicate(5, system.time(run())[["user.self"]]))
    paste(key, time, paste(format(value, digits = 15, trim = TRUE), collapse = " "), sep = "\t")
  }, error = function(e) paste(key, "failed", gsub("[\t\n]", " ", conditionMessage(e)), sep = "\t"))
  writeLines(said, out)
}
close(out)
