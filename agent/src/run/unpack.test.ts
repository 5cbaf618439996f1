import { mkdtempSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { readArchive } from '@groundstate/contract/archive'
import { Header, type HeaderData, Pax } from 'tar'
import { expect, onTestFinished, test } from 'vitest'
import { unpackArchive } from './unpack.ts'

type Entry = HeaderData & { path: string; body?: string }

const END = Buffer.alloc(1024)

function entryOf({ body = '', ...data }: Entry): Buffer {
  const header = new Header({ type: 'File', mode: 0o644, size: body.length, mtime: new Date(0), ...data })
  const extra = header.encode() ? new Pax(data).encode() : Buffer.alloc(0)
  const padding = Buffer.alloc((512 - (body.length % 512)) % 512)
  return Buffer.concat([extra, header.block ?? END, Buffer.from(body), padding])
}

const tarOf = (...entries: Entry[]) => Buffer.concat([...entries.map(entryOf), END])
const archiveOf = (...entries: Entry[]) => gzipSync(tarOf(...entries))

const link = (path: string, linkpath: string): Entry => ({ path, type: 'SymbolicLink', linkpath })
const hardLink = (path: string, linkpath: string): Entry => ({ path, type: 'Link', linkpath })
/** A record of fewer than 90 bytes for the next entry. */
const pax = (text: string): Entry => {
  return { path: 'pax', type: 'ExtendedHeader', body: `${text.length + 4} ${text}\n` }
}
const directory = (path: string, mode = 0o755): Entry => ({ path, type: 'Directory', mode })

function unpackTo(archive: Buffer[]) {
  const configuration = mkdtempSync(join(tmpdir(), 'groundstate-unpack-'))
  onTestFinished(() => rmSync(configuration, { recursive: true }))
  return { configuration, unpacked: unpackArchive(Readable.from(archive), { configuration, user: undefined }) }
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : 'not an error')

const plain = { path: 'main.tf', body: 'x' }
const packed = archiveOf(plain)

test.each<[label: string, isAccepted: boolean, ...archive: Buffer[]]>([
  ['files', true, packed],
  ['no entries', true, gzipSync(END)],
  ['no end marker', true, gzipSync(entryOf(plain))],
  ['a link to a link', true, archiveOf(link('a', 'b'), link('c', 'a'), link('d/e', '../c/x'))],
  ['a link whose path ends in a slash', true, archiveOf(link('d/a/', 'b'))],
  ['a link in place of a file', true, archiveOf({ path: 'a' }, link('a', 'b'))],
  ['a directory in place of a file', true, archiveOf({ path: 'a' }, directory('a/'), { path: 'a/b' })],
  ['a hard link', true, archiveOf({ path: 'a', body: 'x' }, hardLink('b/c', 'a'), { path: 'a', body: 'y' })],
  ['a file twice, at first read-only', true, archiveOf({ path: 'a', mode: 0o400 }, { path: 'a', body: 'x' })],
  ['directories that exclude their owner', true, archiveOf(directory('a/', 0), { path: 'a/b', mode: 0 })],
  [
    'times that no file system stores',
    true,
    archiveOf(pax('mtime=1e300'), { path: 'a' }, pax('mtime=-9e15'), { path: 'b' }),
  ],
  ['owners that no system has', true, archiveOf(pax(`uid=${2 ** 40}`), { path: 'a' })],
  ['a file and a directory that differ in case', true, archiveOf({ path: 'A' }, { path: 'a/b' })],
  ['the longest name', true, archiveOf({ path: `a/${'é'.repeat(127)}` })],
  ['two gzip members', true, gzipSync(entryOf(plain)), gzipSync(tarOf({ path: 'b' }))],
  ['zeros after the gzip data', true, packed, ...Array.from({ length: 2 }, () => Buffer.alloc(64 * 1024))],
  ['text after the gzip data', false, packed, Buffer.from('text')],
  ['a tar without gzip', false, tarOf(plain)],
  ['gzip in gzip', false, gzipSync(packed)],
  ['text', false, Buffer.from('text')],
  ['nothing', false, Buffer.alloc(0)],
  ['a truncated archive', false, packed.subarray(0, -9)],
  ['a truncated tar', false, gzipSync(tarOf({ path: 'a', body: 'x'.repeat(5000) }).subarray(0, 2048))],
  ['a damaged header', false, gzipSync(tarOf(plain).fill('x', 0, 4))],
  ['long padding', false, gzipSync(Buffer.concat([tarOf(plain), Buffer.alloc(2 * 1024 * 1024)]))],
  ['a long name', false, archiveOf({ path: 'é'.repeat(128) })],
  ['a file in a file', false, archiveOf({ path: 'a' }, { path: 'a/b' })],
  ['a file in place of a directory', false, archiveOf({ path: 'a/b' }, { path: 'a' })],
  ['a hard link to nothing', false, archiveOf(hardLink('a', 'b'))],
  ['a hard link to a directory', false, archiveOf(directory('d/'), hardLink('a', 'd'))],
  ['an absolute path', false, archiveOf({ path: '/etc/passwd' })],
  ['a path upwards', false, archiveOf({ path: '../a' })],
  ['a link upwards', false, archiveOf(link('a', '../b'))],
  ['a file through a link', false, archiveOf(link('a', '.'), { path: 'a/b' })],
  ['a device', false, archiveOf({ path: 'a', type: 'CharacterDevice' })],
  ['an unknown type', false, archiveOf({ path: 'a', type: 'SparseFile' })],
])('the server and the agent agree about an archive with %s', async (_label, isAccepted, ...archive) => {
  const checked = await readArchive(Readable.from(archive)).then(() => 'accepted', reasonOf)
  const { unpacked } = unpackTo(archive)

  expect(await unpacked.then(() => 'accepted', reasonOf)).toBe(checked)
  expect(checked === 'accepted').toBe(isAccepted)
})

test('a missing directory is reported', async () => {
  const configuration = join(tmpdir(), 'groundstate-unpack-missing')
  const large = gzipSync(tarOf({ path: 'a', body: 'x'.repeat(1_000_000) }, { path: 'b' }))

  await expect(unpackArchive(Readable.from([large]), { configuration, user: undefined })).rejects.toThrow(configuration)
})

test('links, modes and contents are unpacked', async () => {
  const entries = [
    directory('a/', 0o500),
    link('a/l', 'b'),
    { path: 'a/b', body: 'x', mode: 0o4555 },
    link('m/n', '../a/l'),
  ]
  const { configuration, unpacked } = unpackTo([archiveOf(...entries)])

  await unpacked

  expect(readFileSync(join(configuration, 'm/n'), 'utf8')).toBe('x')
  expect(readlinkSync(join(configuration, 'm/n'))).toBe('../a/l')
  expect(
    [statSync(join(configuration, 'a')), statSync(join(configuration, 'a/b'))].map(({ mode }) => mode & 0o7777),
  ).toEqual([0o700, 0o755])
})
