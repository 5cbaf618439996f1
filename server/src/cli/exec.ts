import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ClientOptions, cliConfiguration, ownCliConfiguration } from './cli-config.ts'

/**
 * Runs `command` with a CLI configuration for the server, and with the server as the host of `cloud` blocks that name
 * none. Returns its exit code, 128 + the signal's number when a signal ended it, 127 when it can't be started.
 */
export async function execCommand(command: readonly string[], options: ClientOptions): Promise<number> {
  const [program, ...args] = command
  if (program === undefined) return 2
  if (options.token === undefined && process.env[tokenVariable(options.hostName)] === undefined) {
    process.stderr.write(
      'groundstate: no API token: set GROUNDSTATE_TOKEN, or make one with `groundstate token create`\n',
    )
    return 2
  }
  const folder = mkdtempSync(join(tmpdir(), 'groundstate-exec-'))
  const file = join(folder, 'terraform.rc')
  writeFileSync(file, `${cliConfiguration(options)}\n${ownCliConfiguration(process.env)}`, { mode: 0o600 })
  const ignore = () => {}
  try {
    return await new Promise<number>((resolve) => {
      const child = spawn(program, args, {
        stdio: 'inherit',
        env: {
          ...process.env,
          TF_CLI_CONFIG_FILE: file,
          TF_CLOUD_HOSTNAME: process.env['TF_CLOUD_HOSTNAME'] ?? options.hostName,
        },
      })
      // The terminal sends an interrupt to the whole group: the child decides what it means.
      process.on('SIGINT', ignore)
      const forward = () => child.kill('SIGTERM')
      process.on('SIGTERM', forward)
      child.on('error', (error) => {
        process.stderr.write(`groundstate: ${program} can't be started: ${error.message}\n`)
        resolve(127)
      })
      child.on('close', (code, signal) => {
        process.off('SIGTERM', forward)
        resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))
      })
    })
  } finally {
    process.off('SIGINT', ignore)
    rmSync(folder, { recursive: true, force: true })
  }
}

function tokenVariable(hostName: string) {
  return `TF_TOKEN_${hostName.replaceAll('.', '_').replaceAll('-', '__')}`
}
