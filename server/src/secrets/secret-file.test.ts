import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { shownKeyId } from './key-id.ts'
import { loadSecrets } from './secret-file.ts'

/** The current secret. */
async function loadSecret(dataDir: string, secret?: string) {
  return (await loadSecrets({ dataDir, secret })).current
}

async function newDirectory() {
  const directory = await mkdtemp(join(tmpdir(), 'groundstate-secret-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  return directory
}

test('a secret is generated once, readable only by its owner, without leftovers', async () => {
  const directory = join(await newDirectory(), 'data')

  const secret = await loadSecret(directory)

  expect(secret).toHaveLength(32)
  expect(await loadSecret(directory)).toEqual(secret)
  expect((await stat(join(directory, 'secret'))).mode & 0o777).toBe(0o600)
  expect(await readdir(directory)).toEqual(['secret'])
})

test('processes that start at the same time agree on one secret', async () => {
  const directory = await newDirectory()
  const program = `
    const { loadSecrets } = await import(process.argv[1])
    process.stdout.write((await loadSecrets({ dataDir: process.argv[2] })).current.toString('hex'))
  `
  const start = () => {
    const args = ['--input-type=module', '-e', program, import.meta.resolve('./secret-file.ts'), directory]
    return text(spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] }).stdout)
  }

  const here = Array.from({ length: 8 }, async () => (await loadSecret(directory)).toString('hex'))
  const secrets = await Promise.all([start(), start(), start(), ...here])

  expect(new Set(secrets)).toEqual(new Set([(await readFile(join(directory, 'secret'), 'utf8')).trim()]))
  expect(await readdir(directory)).toEqual(['secret'])
})

test('a configured secret takes precedence, in hex or base64, and the data directory is not accessed', async () => {
  const secret = randomBytes(32)

  for (const written of [secret.toString('hex'), secret.toString('base64'), ` ${secret.toString('base64url')}\n`]) {
    expect(await loadSecrets({ dataDir: '/nonexistent/groundstate', secret: written, previousSecrets: [] })).toEqual({
      current: secret,
      previous: [],
    })
  }
})

test('a secret of another length or alphabet is rejected with its source', async () => {
  const directory = await newDirectory()
  for (const written of [
    'short',
    randomBytes(16).toString('hex'),
    randomBytes(33).toString('base64'),
    '?'.repeat(43),
  ]) {
    await expect(loadSecret(directory, written)).rejects.toThrow('GROUNDSTATE_SECRET must be 32 bytes')
  }

  await writeFile(join(directory, 'secret'), '')
  await expect(loadSecret(directory)).rejects.toThrow(`${directory}/secret must be 32 bytes`)
})

test('previous secrets come from the setting or a file with one per line', async () => {
  const directory = await newDirectory()
  const [secret, first, second] = [randomBytes(32), randomBytes(32), randomBytes(32)]
  const setting = { dataDir: directory, secret: secret.toString('hex') }
  await writeFile(join(directory, 'previous-secrets'), `${first.toString('hex')}\n${second.toString('base64')}\n\n`)

  expect(await loadSecrets(setting)).toEqual({ current: secret, previous: [first, second] })
  const previousSecrets = [second.toString('hex')]
  expect(await loadSecrets({ ...setting, previousSecrets })).toEqual({ current: secret, previous: [second] })
})

test('a list of previous secrets with an invalid, a repeated or the current one is rejected, without showing any', async () => {
  const directory = await newDirectory()
  const [secret, other] = [randomBytes(32), randomBytes(32)]
  const load = async (...previous: string[]) =>
    loadSecrets({ dataDir: directory, secret: secret.toString('hex'), previousSecrets: previous })

  await expect(load(other.toString('hex'), 'short')).rejects.toThrow(
    'the 2nd secret in GROUNDSTATE_PREVIOUS_SECRETS must be 32 bytes, as 64 hex digits or as base64',
  )
  await expect(load(other.toString('hex'), other.toString('base64'))).rejects.toThrow(
    `GROUNDSTATE_PREVIOUS_SECRETS lists the secret with the id ${shownKeyId(other)} twice`,
  )
  await expect(load(secret.toString('base64'))).rejects.toThrow(
    `GROUNDSTATE_PREVIOUS_SECRETS lists the current secret (id ${shownKeyId(secret)}); list only the other ones there`,
  )
  await writeFile(join(directory, 'previous-secrets'), 'short\n')
  await expect(loadSecrets({ dataDir: directory, secret: secret.toString('hex') })).rejects.toThrow(
    `the 1st secret in ${directory}/previous-secrets must be 32 bytes`,
  )
})
