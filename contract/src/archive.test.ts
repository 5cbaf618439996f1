import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { Header, Pax } from 'tar'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ArchiveError, type ArchiveLimits, readArchive } from './archive.ts'

type Entry = { path: string; type?: 'File' | 'Directory' | 'SymbolicLink' | 'Link' | 'FIFO' | 'BlockDevice' } & {
  linkpath?: string
  body?: string
}

const END = Buffer.alloc(1024)

function tarEntry({ path, type = 'File', linkpath, body = '' }: Entry): Buffer {
  const header = Buffer.alloc(512)
  const made = new Header({
    path,
    type,
    mode: 0o644,
    size: body.length,
    ...(linkpath === undefined ? {} : { linkpath }),
  })
  const needsPax = made.encode(header)
  const pax = needsPax ? new Pax({ path, ...(linkpath === undefined ? {} : { linkpath }) }).encode() : Buffer.alloc(0)
  return Buffer.concat([pax, header, Buffer.from(body), Buffer.alloc((512 - (body.length % 512)) % 512)])
}

function archive(...entries: Entry[]) {
  return gzipSync(Buffer.concat([...entries.map(tarEntry), END]))
}

/** Sends chunks of three bytes at first, like a slow client. */
async function check(packed: Buffer, limits?: ArchiveLimits) {
  const chunks = [packed.subarray(0, 3), packed.subarray(3, 6), packed.subarray(6)].filter((chunk) => chunk.length > 0)
  return readArchive(Readable.from(chunks), limits)
}

async function refusal(packed: Buffer, limits?: ArchiveLimits) {
  const error: unknown = await check(packed, limits).catch((error: unknown) => error)
  if (!(error instanceof ArchiveError)) throw new Error('was not refused', { cause: error })
  return error.message
}

test('an archive created by tar is accepted', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'groundstate-archive-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  mkdirSync(join(directory, 'modules/net'), { recursive: true })
  writeFileSync(join(directory, 'main.tf'), 'x'.repeat(1000))
  writeFileSync(join(directory, 'modules/net', `${'long'.repeat(40)}.tf`), 'y'.repeat(70_000))
  symlinkSync('modules/net', join(directory, 'net'))
  symlinkSync('../../main.tf', join(directory, 'modules/net/main.tf'))

  for (const format of ['gnu', 'pax']) {
    const packed = execFileSync('tar', ['-C', directory, `--format=${format}`, '-cz', '.'])

    expect(await check(packed)).toEqual({ files: 4, bytes: 71_000 })
  }
})

test('an archive without entries is accepted', async () => {
  expect(await check(gzipSync(END))).toEqual({ files: 0, bytes: 0 })
})

test('data after the end marker is not read, and may fill a block', async () => {
  const packed = gzipSync(Buffer.concat([tarEntry({ path: 'main.tf', body: 'a' }), END, Buffer.alloc(512 * 1024, 'x')]))

  expect(await check(packed)).toEqual({ files: 1, bytes: 1 })
})

test.each([0, 1])(
  'an archive of %i files with long padding after its end marker is rejected immediately',
  async (files) => {
    const entries = Array.from({ length: files }, () => tarEntry({ path: 'main.tf' }))
    const packed = gzipSync(Buffer.concat([...entries, END, Buffer.alloc(64 * 1024 * 1024)]))
    const before = process.cpuUsage()

    expect(await refusal(packed)).toBe('the archive has more than 1048576 bytes after its end marker')

    // The parser would buffer all of it and copy it for each chunk, which takes half a minute.
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000)
  },
)

test('zeros after the compressed data are ignored', async () => {
  const packed = archive({ path: 'main.tf', body: 'a' })
  const zeros = Array.from({ length: 2 }, () => Buffer.alloc(64 * 1024))

  expect(await readArchive(Readable.from([packed, ...zeros]))).toEqual({ files: 1, bytes: 1 })
})

test('an archive without an end marker is valid, as for other readers', async () => {
  expect(await check(gzipSync(tarEntry({ path: 'main.tf', body: 'x' })))).toEqual({ files: 1, bytes: 1 })
})

describe('a forbidden entry is named', () => {
  test.each<[string, Entry[]]>([
    ['entry "/etc/passwd" has an absolute path', [{ path: '/etc/passwd' }]],
    ['entry "../x" has a path with ..', [{ path: 'fine' }, { path: '../x' }]],
    ['entry "pipe" has the type FIFO, only files, directories and links are allowed', [{ path: 'pipe', type: 'FIFO' }]],
    [
      'entry "disk" has the type BlockDevice, only files, directories and links are allowed',
      [{ path: 'disk', type: 'BlockDevice' }],
    ],
    ['entry "a/b" links out of the archive to ../../c', [{ path: 'a/b', type: 'SymbolicLink', linkpath: '../../c' }]],
    ['entry "a" links to the absolute path /etc', [{ path: 'a', type: 'SymbolicLink', linkpath: '/etc' }]],
    ['entry "a" links to ../c, which has a path with ..', [{ path: 'a', type: 'Link', linkpath: '../c' }]],
    [
      'entry "a/x" passes through an earlier link',
      [{ path: 'a', type: 'SymbolicLink', linkpath: 'b' }, { path: 'a/x' }],
    ],
    [
      `entry "deep" links out of the archive to ${'below/'.repeat(40)}${'../'.repeat(40)}../x`,
      [{ path: 'deep', type: 'SymbolicLink', linkpath: `${'below/'.repeat(40)}${'../'.repeat(40)}../x` }],
    ],
  ])('%s', async (message, entries) => {
    expect(await refusal(archive(...entries))).toBe(message)
  })
})

describe('limits', () => {
  test('too many entries, directories counted', async () => {
    const packed = archive({ path: 'a/', type: 'Directory' }, { path: 'a/b' }, { path: 'a/c' })

    expect(await refusal(packed, { maxEntries: 2 })).toBe('the archive holds more than 2 entries')
    expect(await check(packed, { maxEntries: 3 })).toEqual({ files: 2, bytes: 0 })
  })

  test('an archive bomb is rejected long before it is unpacked', async () => {
    const megabyte = gzipSync(Buffer.alloc(1024 * 1024))
    let sent = 0
    // Ten gigabytes, generated on demand.
    function* bomb() {
      const header = Buffer.alloc(512)
      new Header({ path: 'a', type: 'File', mode: 0o644, size: 10_000 * 1024 * 1024 }).encode(header)
      yield gzipSync(header)
      for (; sent < 10_000; sent += 1) yield megabyte
    }

    await expect(readArchive(Readable.from(bomb()), { maxBytes: 5_000_000 })).rejects.toThrow(
      'unpacks to more than 5000000 bytes',
    )

    expect(sent).toBeLessThan(100)
  })

  test('a file with a huge declared size counts by its actual size', async () => {
    const header = Buffer.alloc(512)
    new Header({ path: 'huge', type: 'File', mode: 0o644, size: 8 * 1024 ** 3 - 1 }).encode(header)

    expect(await refusal(gzipSync(Buffer.concat([header, END])))).toMatch(/^the archive is not a valid tar: truncated/)
  })
})

describe('invalid archives', () => {
  test.each<[string, Buffer, RegExp]>([
    ['nothing at all', Buffer.alloc(0), /^the archive is (truncated|empty)/],
    [
      'text',
      Buffer.from('resource "terraform_data" "x" {}'),
      /^the archive is not valid gzip: incorrect header check$/,
    ],
    ['a tar without gzip', Buffer.concat([tarEntry({ path: 'a' }), END]), /^the archive is not valid gzip/],
    ['text in gzip', gzipSync('x'.repeat(2000)), /^the archive is not a valid tar: checksum failure$/],
    ['a little text in gzip', gzipSync('hello'), /^the archive is not a valid tar: unrecognized archive format$/],
    ['nothing in gzip', gzipSync(''), /^the archive is empty/],
    ['gzip in gzip', gzipSync(archive({ path: 'a' })), /^the archive is compressed twice$/],
    [
      'a truncated archive',
      archive({ path: 'a', body: 'x'.repeat(3000) }).subarray(0, -12),
      /^the archive is truncated$/,
    ],
    [
      'a cut tar',
      gzipSync(tarEntry({ path: 'a', body: 'x'.repeat(3000) }).subarray(0, 1024)),
      /not a valid tar: truncated/,
    ],
  ])('%s', async (_label, packed, message) => {
    expect(await refusal(packed)).toMatch(message)
  })

  test('a damaged archive is rejected', async () => {
    const packed = gzipSync(Buffer.concat([tarEntry({ path: 'a', body: 'x'.repeat(1000) }), END]), { level: 0 })
    for (let offset = 11; offset < packed.length; offset += 7) {
      const damaged = Buffer.from(packed)
      damaged.writeUInt8(damaged.readUInt8(offset) ^ 0x10, offset)

      expect(await refusal(damaged)).toMatch(/^the archive is /)
    }
  })

  test('an error of the source is not reported as an invalid archive', async () => {
    const source = async function* () {
      yield archive({ path: 'a' }).subarray(0, 20)
      throw new Error('the client disconnected')
    }

    await expect(readArchive(source())).rejects.toThrow('the client disconnected')
  })
})
