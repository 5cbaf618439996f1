import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { cliConfiguration } from '../server/src/cli/cli-config.ts'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { ADMIN_TOKEN, type BootedServer } from './server.ts'

export const HOST = 'groundstate.local'

/** Whether the engine is installed; without it, its tests are skipped with a message. */
export const hasTerraform = (() => {
  try {
    execFileSync('terraform', ['version'], {
      stdio: 'ignore',
      env: { PATH: process.env['PATH'], CHECKPOINT_DISABLE: '1' },
    })
    return true
  } catch {
    console.warn('SKIPPED: terraform is not on the PATH, nothing that drives it can be tested')
    return false
  }
})()

export type Result = { code: number | null; out: string; err: string; all: string }

export type Directory = {
  path: string
  write: (files: Record<string, string>) => Promise<void>
  /** Runs terraform to completion. */
  run: (args: readonly string[], options?: RunOptions) => Promise<Result>
  /** Like `run`, but throws with the whole output on failure. */
  ok: (args: readonly string[], options?: RunOptions) => Promise<Result>
  /** Starts terraform, which the test can watch and signal. */
  start: (args: readonly string[], options?: RunOptions) => Running
}
/** An undefined variable is removed from the environment. */
export type RunOptions = {
  env?: Record<string, string | undefined>
  /** The standard input, which then ends; `open` leaves it to the test. */
  input?: string | { open: true }
  program?: string
}
export type Running = {
  child: ChildProcess
  done: Promise<Result>
  /** Waits until the output matches, and returns the match. */
  saw: (text: string | RegExp) => Promise<string>
}

/** A directory with a configuration, in which unmodified terraform runs against the server with `token`. */
export async function terraformDirectory(
  server: BootedServer,
  files: Record<string, string>,
  token = ADMIN_TOKEN,
): Promise<Directory> {
  const path = await mkdtemp(join(tmpdir(), 'groundstate-tf-'))
  const home = await mkdtemp(join(tmpdir(), 'groundstate-home-'))
  const config = join(home, 'terraform.rc')
  await writeFile(config, cliConfiguration({ url: server.url, token, hostName: HOST }))
  atEnd(async () => {
    await rm(path, { recursive: true, force: true })
    await rm(home, { recursive: true, force: true })
  })

  const write = async (contents: Record<string, string>) => {
    for (const [name, text] of Object.entries(contents)) {
      await mkdir(dirname(join(path, name)), { recursive: true })
      await writeFile(join(path, name), text)
    }
  }
  await write(files)

  function start(args: readonly string[], options: RunOptions = {}): Running {
    const child = spawn(options.program ?? 'terraform', args, {
      cwd: path,
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        TF_CLI_CONFIG_FILE: config,
        CHECKPOINT_DISABLE: '1',
        ...options.env,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    let out = ''
    let err = ''
    const watchers = new Set<() => void>()
    child.stdout.on('data', (data: Buffer) => {
      out += data.toString()
      watchers.forEach((watch) => watch())
    })
    child.stderr.on('data', (data: Buffer) => {
      err += data.toString()
      watchers.forEach((watch) => watch())
    })
    if (typeof options.input !== 'object') child.stdin.end(options.input)
    const done = new Promise<Result>((resolve) => {
      child.once('close', (code) => {
        watchers.forEach((watch) => watch())
        resolve({ code, out, err, all: plain(out + err) })
      })
    })
    const saw = async (text: string | RegExp) =>
      new Promise<string>((resolve, reject) => {
        const look = () => {
          const all = plain(out + err)
          const found = typeof text === 'string' ? all.includes(text) && text : text.exec(all)?.[0]
          if (found) {
            watchers.delete(look)
            resolve(found)
          } else if (child.exitCode !== null) {
            reject(new Error(`terraform ended before it printed ${String(text)}:\n${all}`))
          }
        }
        watchers.add(look)
        look()
      })
    return { child, done, saw }
  }

  const run = async (args: readonly string[], options?: RunOptions) => start(args, options).done
  return {
    path,
    write,
    start,
    run,
    async ok(args, options) {
      const result = await run(args, options)
      if (result.code !== 0) throw new Error(`terraform ${args.join(' ')} ended with ${result.code}:\n${result.all}`)
      return result
    },
  }
}

/** A configuration's `terraform` block with a `cloud` block for one workspace by name. */
export function cloudBlock(workspace: string, organization = 'main') {
  return `terraform {
  cloud {
    hostname     = "${HOST}"
    organization = "${organization}"
    workspaces {
      name = "${workspace}"
    }
  }
}
`
}

/** Like `cloudBlock`, with `backend "remote"`. */
export function remoteBackend(workspace: string, organization = 'main') {
  return `terraform {
  backend "remote" {
    hostname     = "${HOST}"
    organization = "${organization}"
    workspaces {
      name = "${workspace}"
    }
  }
}
`
}

function plain(text: string) {
  // oxlint-disable-next-line no-control-regex -- colour codes start with the escape character
  return text.replace(/\u001b\[[0-9;]*m/g, '')
}
