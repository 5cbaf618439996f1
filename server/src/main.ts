import { endProcess } from '@groundstate/agent/process/end-process'
import { runCli } from './cli/cli.ts'

endProcess(await runCli(process.argv))
