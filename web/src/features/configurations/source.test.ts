import { expect, test } from 'vitest'
import { packArchive, readArchive } from './archive.ts'
import { ignoreRules } from './ignore-rules.ts'
import { configurationDirectories, sourceOf } from './source.ts'

const filesOf = (paths: readonly string[], text = 'x') => paths.map((path) => ({ path, file: new File([text], path) }))

test('a directory loses its name, and ignored files are left out and counted', async () => {
  const files = [
    ...filesOf(['infra/main.tf', 'infra/.terraform/providers/big', 'infra/.git/config', 'infra/docs/a.md']),
    { path: 'infra/.terraformignore', file: new File(['docs/\n'], '.terraformignore') },
  ]

  const source = await sourceOf(files)

  expect(source).toMatchObject({
    kind: 'files',
    name: 'infra',
    ignored: 3,
    ignoredBy: ['.git', '.terraform', '.terraformignore'],
  })
  expect(source.files?.map(({ path }) => path)).toEqual(['.terraformignore', 'main.tf'])
})

test('an archive loses what is ignored, and nothing else', async () => {
  const deep = `modules/${'a-long-name/'.repeat(10)}main.tf`
  const files = [
    ...filesOf(['.git/objects/a', '.terraform/modules/m', '.terraform/providers/p', deep, 'main.tf', 'notes/a.txt']),
    { path: '.terraformignore', file: new File(['notes/\n'], '.terraformignore') },
  ]
  const archive = new File([await packArchive(files)], 'infra.tar.gz')

  const source = await sourceOf([{ path: archive.name, file: archive }])
  const { entries } = await readArchive(source.kind === 'archive' ? source.content : archive)

  const rest = ['.terraform/modules/m', deep, 'main.tf', '.terraformignore']
  expect(source).toMatchObject({ ignored: 3, ignoredBy: ['.git', '.terraform', '.terraformignore'] })
  expect(source.files?.map(({ path }) => path)).toEqual(rest)
  expect(entries.map(({ path }) => path)).toEqual(rest)
})

test('an archive with a path outside of it is refused', async () => {
  const archive = new File([await packArchive(filesOf(['main.tf', '../../evil.tf']))], 'infra.tar.gz')

  await expect(sourceOf([{ path: archive.name, file: archive }])).rejects.toThrow('../../evil.tf has a path with ..')
})

test.each([
  [['main.tf'], 'main.tf'],
  [['main.tf', 'outputs.tf', 'a.tf'], '3 files'],
])('the selection of %j is named %s', async (paths, name) => {
  expect(await sourceOf(filesOf(paths))).toMatchObject({ name })
})

test('an archive with nothing to leave out is not changed', async () => {
  const archive = new File([await packArchive(filesOf(['main.tf']))], 'infra.tar.gz')

  expect(await sourceOf([{ path: archive.name, file: archive }])).toMatchObject({
    kind: 'archive',
    content: archive,
    files: [{ path: 'main.tf', size: 1 }],
  })
})

test.each([
  ['nothing', [], 'empty'],
  ['a directory without a configuration', ['infra/README.md'], 'no .tf files in infra'],
  ['a zip archive', ['infra.zip'], 'extract it'],
  ['a broken archive', ['infra.tar.gz'], 'not a valid .tar.gz'],
])('%s is refused', async (_, paths, reason) => {
  await expect(sourceOf(filesOf(paths))).rejects.toThrow(reason)
})

test('directories with a configuration are found, the root first', () => {
  const files = ['modules/a/main.tf', 'main.tf', 'prod/app.tofu', 'notes.txt', 'gen/x.tf.json'].map((path) => ({
    path,
  }))

  expect(configurationDirectories(files)).toEqual(['', 'gen', 'prod', 'modules/a'])
})

test.each([
  ['', '.terraform/modules/vpc/main.tf', false],
  ['', 'sub/.terraform/x', true],
  ['*.log', 'deep/er/a.log', true],
  ['/a.log', 'deep/a.log', false],
  ['node_modules', 'app/node_modules/x/y', true],
  ['node_modules', 'app/node_modules2/x', false],
  ['docs/**/*.png', 'docs/a/b/c.png', true],
  ['docs/\n!docs/keep.md', 'docs/keep.md', false],
  ['# comment\n\nb?.tf', 'b1.tf', true],
  ['a.b', 'aXb', false],
  ['build/', 'build', false],
])('rules %j decide about %s', (text, path, isIgnored) => {
  expect(ignoreRules(text)(path) !== undefined).toBe(isIgnored)
})
