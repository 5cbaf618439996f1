import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readKey } from 'openpgp'
import { expect, onTestFinished, test, vi } from 'vitest'
import { temporaryDirectory } from '../testing/agent-fixture.ts'
import { createSigner, startMirror } from '../testing/engine-mirror.ts'
import { openEngineDownloads } from './engine-download.ts'
import { ENGINE_KEYS } from './engine-keys.ts'
import { findEngine, listEngines } from './engine.ts'

const signer = await createSigner()

/** A mirror with a trusted signer, and an agent whose only engines are downloaded from it. */
async function setUp() {
  vi.stubEnv('PATH', '/nonexistent')
  onTestFinished(() => void vi.unstubAllEnvs())
  const mirror = await startMirror()
  const directory = join(await temporaryDirectory(), 'engines')
  const keyFile = join(await temporaryDirectory(), 'mirror.asc')
  await writeFile(keyFile, signer.publicKey)
  const mirrors = { terraform: mirror.url, tofu: mirror.url }
  const open = (own = true) => openEngineDownloads(directory, { mirrors, ...(own && { keyFile }) })
  return { mirror, directory, open, search: { enginePath: undefined, strict: false, downloads: await open() } }
}

test.for([
  ['terraform', '1.9.8'],
  ['tofu', '1.8.5'],
] as const)('a missing %s is downloaded', async ([product, version]) => {
  const { mirror, directory, search } = await setUp()
  await mirror.publish(product, version, signer)

  const found = await findEngine({ product, version }, search)

  expect(found).toEqual({
    engine: { product, version, path: join(directory, product, version, product), platform: 'linux_amd64' },
    warning: undefined,
  })
  expect(await readdir(directory)).toEqual([product])
  expect(await listEngines(search)).toEqual([{ product, version }])
})

test('users of runs may execute a download, regardless of the umask', async () => {
  const umask = process.umask(0o077)
  onTestFinished(() => void process.umask(umask))
  const { mirror, directory, search } = await setUp()
  await mirror.publish('terraform', '1.9.8', signer)

  const { engine } = await findEngine({ product: 'terraform', version: '1.9.8' }, search)

  const paths = [directory, join(directory, 'terraform'), join(directory, 'terraform/1.9.8'), engine.path]
  const modes = await Promise.all(paths.map(async (path) => (await stat(path)).mode & 0o777))
  expect(modes).toEqual([0o755, 0o755, 0o755, 0o755])
})

test('a version is downloaded once for concurrent jobs, and never again', async () => {
  const { mirror, search } = await setUp()
  const { archive } = await mirror.publish('terraform', '1.9.8', signer)
  const requirement = { product: 'terraform', version: '1.9.8' } as const

  await Promise.all([findEngine(requirement, search), findEngine(requirement, search), findEngine(requirement, search)])
  await findEngine(requirement, search)

  expect(mirror.requests.filter((path) => path === archive)).toHaveLength(1)
})

test.for([
  ['terraform', '~> 1.9.0', '1.9.8'],
  ['tofu', '>= 1.7, < 1.9', '1.8.5'],
  ['terraform', 'latest', '1.10.1'],
] as const)('%s %s is the highest release of the mirror that it allows', async ([product, version, expected]) => {
  const { mirror, search } = await setUp()
  for (const one of ['1.8.5', '1.9.7', '1.9.8', '1.10.1', '1.11.0-rc1']) await mirror.publish(product, one, signer)

  const found = await findEngine({ product, version }, search)

  expect(found.engine.version).toBe(expected)
})

test('a constraint that an installed version meets needs no download', async () => {
  const { mirror, search } = await setUp()
  await mirror.publish('terraform', '1.9.7', signer)
  await findEngine({ product: 'terraform', version: '1.9.7' }, search)
  await mirror.publish('terraform', '1.9.8', signer)

  const found = await findEngine({ product: 'terraform', version: '~> 1.9.0' }, search)

  expect(found.engine.version).toBe('1.9.7')
})

test('a constraint that nothing meets is rejected', async () => {
  const { mirror, search } = await setUp()
  await mirror.publish('terraform', '1.9.7', signer)
  await findEngine({ product: 'terraform', version: '1.9.7' }, search)

  await expect(findEngine({ product: 'terraform', version: '~> 2.0' }, search)).rejects.toThrow(
    'no Terraform that meets ~> 2.0 is on this agent, which has 1.9.7. Its mirror has none either',
  )
})

const requirement = { product: 'terraform', version: '1.9.8', required: true } as const

test('a missing version is named', async () => {
  const { search } = await setUp()

  await expect(findEngine(requirement, search)).rejects.toThrow(
    /this agent has no Terraform.*terraform_1\.9\.8_SHA256SUMS responded with 404: there is no such version/,
  )
})

test('a signature of a key that is not trusted is rejected', async () => {
  const { mirror, search, open } = await setUp()
  await mirror.publish('terraform', '1.9.8', signer)
  const downloads = await open(false)

  await expect(findEngine(requirement, { ...search, downloads })).rejects.toThrow(
    /is refused: the key \w{16}.* is not trusted/,
  )
})

test('a list that was changed after signing is rejected', async () => {
  const { mirror, directory, search } = await setUp()
  const { sums } = await mirror.publish('terraform', '1.9.8', signer)
  mirror.files.set(sums, `${mirror.files.get(sums)?.toString()}\n`)

  await expect(findEngine(requirement, search)).rejects.toThrow('Signed digest did not match')
  expect(await readdir(directory)).toEqual([])
})

test('an invalid signature is rejected', async () => {
  const { mirror, search } = await setUp()
  const { signature } = await mirror.publish('terraform', '1.9.8', signer)
  mirror.files.set(signature, '<html>a login page</html>')

  await expect(findEngine(requirement, search)).rejects.toThrow('is refused: it is not a PGP signature')
})

test('an archive with another checksum is rejected and removed', async () => {
  const { mirror, directory, search } = await setUp()
  const { archive } = await mirror.publish('terraform', '1.9.8', signer)
  const bytes = Buffer.from(mirror.files.get(archive) ?? '')
  mirror.files.set(archive, bytes.subarray(0, bytes.length - 10))

  await expect(findEngine(requirement, search)).rejects.toThrow(
    /has the SHA-256 \w{64}, but its signed list has \w{64}/,
  )
  expect(await readdir(directory)).toEqual([])
})

test('an unreachable mirror is named, and an installed engine runs with a warning', async () => {
  const { search } = await setUp()
  const enginePath = await temporaryDirectory()
  await writeFile(join(enginePath, 'terraform'), "#!/bin/sh\nprintf 'Terraform v1.5.7\\non linux_amd64\\n'\n")
  await chmod(join(enginePath, 'terraform'), 0o755)
  const mirrors = { terraform: 'http://127.0.0.1:9', tofu: 'http://127.0.0.1:9' }
  const downloads = await openEngineDownloads(await temporaryDirectory(), { mirrors })

  const found = await findEngine({ product: 'terraform', version: '1.9.8' }, { ...search, enginePath, downloads })

  expect(found.engine.version).toBe('1.5.7')
  expect(found.warning).toMatch(/the run uses 1\.5\.7\. The download failed: cannot reach http:\/\/127\.0\.0\.1:9/)
})

test('incomplete downloads of a dead agent are removed', async () => {
  const { directory, open } = await setUp()
  await mkdir(join(directory, '.draft-1234/1.9.8'), { recursive: true })

  await open()

  expect(await readdir(directory)).toEqual([])
})

test.for(['terraform', 'tofu'] as const)('the key of %s has the published fingerprint', async (product) => {
  const { armored, fingerprint } = ENGINE_KEYS[product]

  const key = await readKey({ armoredKey: armored })

  expect(key.getFingerprint()).toBe(fingerprint)
})
