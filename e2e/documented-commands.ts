import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { hasTerraform } from './terraform.ts'

const ROOT = join(import.meta.dirname, '..')
/** Has the command `groundstate` as npm links it. */
const BIN = join(ROOT, 'node_modules/.bin')

/** The steps of an operator for each block of a page, by its name, in the order of the page. `skip` ends one that this machine cannot run. */
export type Cases = Record<string, (block: Block, skip: (reason: string) => void) => Promise<unknown>>

/** A block of commands in a page of the documentation, named after its heading, and numbered if the section has several. */
export type Block = { name: string; page: string; line: number; text: string }

/** The blocks of commands of a page, in order. */
export function blocksOf(page: string): Block[] {
  const lines = readFileSync(join(ROOT, page), 'utf8').split('\n')
  const blocks: Block[] = []
  let heading = ''
  let open: { indent: string; isShell: boolean; line: number; text: string[] } | undefined
  for (const [index, line] of lines.entries()) {
    const [, indent = '', language] = /^( *)```(\w*)$/.exec(line) ?? []
    if (open === undefined && language !== undefined)
      open = { indent, isShell: language === 'sh' || language === '', line: index + 1, text: [] }
    else if (open === undefined) heading = /^#+ (.+)$/.exec(line)?.[1] ?? heading
    else if (language !== '') open.text.push(line.slice(open.indent.length))
    else {
      const { text, isShell } = open
      const earlier = blocks.filter(({ name }) => name.replace(/ \(\d+\)$/, '') === heading).length
      const name = earlier === 0 ? heading : `${heading} (${earlier + 1})`
      if (isShell) blocks.push({ name, page, line: open.line, text: text.join('\n') })
      open = undefined
    }
  }
  return blocks
}

/** The text of a block with values for its placeholders, such as `…`. A placeholder that it lacks is an error. */
export function filled({ text, page, line }: Block, values: Record<string, string>) {
  return Object.entries(values).reduce((result, [placeholder, value]) => {
    if (!result.includes(placeholder)) throw new Error(`${page}:${line} has no ${placeholder} any more`)
    return result.replaceAll(placeholder, value)
  }, text)
}

type Options = {
  env?: Record<string, string>
  cwd: string
  /** Directories that appear at documented paths, such as `/var/backups`. */
  at?: Record<string, string>
  /** Directories with programs that come first in PATH. */
  path?: readonly string[]
  /** Without any network but own loopback addresses, so every documented port is free. */
  isOffline?: boolean
  /** Resolves once the output has this text, and ends everything. */
  until?: string
}

const identity = process.getuid?.() === 0 ? ['--cap-add', 'ALL'] : []

/** Whether blocks can be run with other directories at the documented paths. */
export const hasSandbox =
  spawnSync('bwrap', [...identity, '--dev-bind', '/', '/', '--unshare-net', 'true']).status === 0
if (!hasSandbox)
  console.warn('SKIPPED: bubblewrap is not installed or cannot create namespaces: no documented command is run')

/** Runs a text as a user's shell does, but ends at the first command that fails. Returns the output, or throws with it. */
export async function runShell(text: string, { env = {}, cwd, at = {}, path = [], isOffline = false, until }: Options) {
  const mounts = Object.entries(at).flatMap(([documented, actual]) => ['--bind', actual, documented])
  const network = isOffline ? ['--unshare-net'] : []
  // All processes end with their first one.
  const processes = isOffline || until !== undefined ? ['--unshare-pid', '--proc', '/proc'] : []
  const namespaces = [...network, ...processes, '--die-with-parent']
  const sandbox = [...identity, '--dev-bind', '/', '/', ...mounts, ...namespaces, '--chdir', cwd]
  const child = spawn('bwrap', [...sandbox, 'bash', '-eu', '-c', text], {
    env: { PATH: [...path, BIN, process.env['PATH']].join(':'), HOME: cwd, CHECKPOINT_DISABLE: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let isReached = false
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => {
      output += String(data)
      if (until === undefined || isReached || !output.includes(until)) return
      isReached = true
      child.kill('SIGKILL')
    })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  if (!isReached && (code !== 0 || until !== undefined)) throw new Error(`exit code ${code}:\n${text}\n${output}`)
  return output
}

/** The variables that a text sets, whether it exports them or is a file of settings. */
export async function variablesSetBy(text: string, options: Options): Promise<Record<string, string>> {
  const output = await runShell(`set -a\n${text}\nenv -0`, options)
  const variables = output.split('\0').map((line) => line.split(/=([^]*)/, 2))
  return Object.fromEntries(variables.filter(([name]) => name !== '' && text.includes(`${name}=`)))
}

/** Tests that run each block of a page as printed. */
export function describeBlocks(page: string, cases: Cases, options: { timeout?: number } = {}) {
  describe.skipIf(!hasSandbox || !hasTerraform)(`the commands of ${page}`, () => {
    const blocks = blocksOf(page)

    test.for(blocks)('$name', options, async (block, { skip }) => {
      const run = cases[block.name]
      expect(run, `no case runs the commands of ${page}:${block.line}`).toBeDefined()
      await run?.(block, skip)
    })

    test('has the block of each case', () => {
      expect(Object.keys(cases)).toEqual(blocks.map(({ name }) => name))
    })
  })
}
