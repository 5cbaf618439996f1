import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../testing/agent-fixture.ts'
import { maskFile } from './redaction.ts'

const TOKEN = `jwt.${'é'.repeat(500)}`
const MASK = '*'.repeat(Buffer.byteLength(TOKEN))
const MIB = 1024 * 1024

async function masked(text: string | Buffer, tokens: string[]) {
  const path = join(await temporaryDirectory(), 'log')
  await writeFile(path, text)
  await maskFile(path, tokens)
  return readFile(path)
}

test.each([-1005, -1004, -1003, -500, -1, 0])('a token is masked at the end of a part of the file: %s', async (at) => {
  const before = 'x'.repeat(MIB + at)

  const bytes = await masked(`${before}${TOKEN}y`, ['another token of the run', TOKEN])

  expect(bytes.toString()).toBe(`${before}${MASK}y`)
})

test('each occurrence of each token is masked', async () => {
  const other = 'hvs.0123456789ab'

  const bytes = await masked(`${TOKEN}${TOKEN} ${other}\n${TOKEN}`, [TOKEN, other])

  expect(bytes.toString()).toBe(`${MASK}${MASK} ${'*'.repeat(16)}\n${MASK}`)
})

test('a short text is not masked, since it could be part of anything', async () => {
  expect((await masked('banana', ['a', '', 'an'])).toString()).toBe('banana')
})

test('a log of only one letter is masked without blocking the agent', async () => {
  const size = 16 * MIB
  const turns = { count: 0 }
  const timer = setInterval(() => void turns.count++, 1)

  const bytes = await masked(Buffer.alloc(size, 'a'), ['a'.repeat(16)])
  clearInterval(timer)

  expect(bytes.equals(Buffer.alloc(size, '*'))).toBe(true)
  expect(turns.count).toBeGreaterThan(1)
})
