import { endAfterTraces } from '@groundstate/agent/tracing/tracing'
import { runCli } from './cli/cli.ts'

process.exitCode = await runCli(process.argv)
endAfterTraces()
