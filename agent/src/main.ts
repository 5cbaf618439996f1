import { runCommandLine } from './command-line.ts'
import { endProcess } from './process/end-process.ts'

endProcess(await runCommandLine(process.argv.slice(2), process.env))
