import { entryProblem, newSeenEntries } from '@groundstate/contract/archive-entry'
import { byteSize, counted } from '../../components/numbers.ts'
import type { SourceFile } from './archive.ts'
import { entryText, readArchive, repackArchive } from './archive.ts'
import { ignoreRules } from './ignore-rules.ts'

/** Limits of the server for the archive and its unpacked content, in bytes, and for its entries. */
export const MAX_ARCHIVE_BYTES = 512 * 1024 ** 2
const MAX_UNPACKED_BYTES = 1024 ** 3
const MAX_FILES = 100_000
/** A larger archive, in bytes, is uploaded without listing its content, which would be unpacked in memory. */
const MAX_LISTED_BYTES = 64 * 1024 ** 2

/** Selection for an upload: a directory or files, which are packed, or an archive, which is unchanged if nothing is left out. */
export type Source = {
  name: string
  /** Undefined for an archive too large to be listed. */
  files: readonly { path: string; size: number }[] | undefined
  /** Number of files left out by `.terraformignore` and the default rules. */
  ignored: number
  /** The rules that left them out: `.git`, `.terraform`, `.terraformignore`. */
  ignoredBy: readonly string[]
  bytes: number
} & ({ kind: 'files'; content: readonly SourceFile[] } | { kind: 'archive'; content: Blob })

/** The user's selection cannot be uploaded; the message says why and what to do. */
export class SourceError extends Error {
  override name = 'SourceError'
}

/** The kind of an upload, which decides what files it must have. */
export type SourceKind = 'configuration' | 'policies'

/** Checks selected files and applies `.terraformignore`. Throws `SourceError`. */
export async function sourceOf(selected: readonly SourceFile[], kind: SourceKind = 'configuration'): Promise<Source> {
  const [only] = selected
  if (only === undefined) throw new SourceError('The folder is empty, or the browser can’t read it.')
  if (selected.length === 1 && only.file instanceof File && isArchive(only.path))
    return checked(await archiveSource(only.file), kind)
  const { name, files } = withoutTopDirectory(selected)
  const rules = files.find(({ path }) => path === '.terraformignore')
  const ruleOf = ignoreRules(await rules?.file.text())
  const content = files
    .filter(({ path }) => ruleOf(path) === undefined)
    .toSorted((a, b) => a.path.localeCompare(b.path))
  const bytes = content.reduce((sum, { file }) => sum + file.size, 0)
  if (content.length > MAX_FILES)
    throw new SourceError(
      `${counted(content.length, 'file')} are too many: at most ${counted(MAX_FILES, 'file')} can be uploaded. A .terraformignore file leaves directories out.`,
    )
  if (bytes > MAX_UNPACKED_BYTES)
    throw new SourceError(
      `The files have ${byteSize(bytes)}: at most ${byteSize(MAX_UNPACKED_BYTES)} can be uploaded. A .terraformignore file leaves directories out.`,
    )
  const source = {
    kind: 'files',
    name,
    content,
    bytes,
    files: content.map(({ path, file }) => ({ path, size: file.size })),
    ...leftOut(files, ruleOf),
  } as const
  return checked(source, kind)
}

/** How many files are left out, and what leaves them out. */
function leftOut(files: readonly { path: string }[], ruleOf: (path: string) => string | undefined) {
  const rules = files.flatMap(({ path }) => ruleOf(path) ?? [])
  return { ignored: rules.length, ignoredBy: [...new Set(rules)].toSorted() }
}

function isArchive(path: string) {
  if (/\.(?:zip|7z|rar|tar|tar\.(?:bz2|xz|zst))$/i.test(path))
    throw new SourceError(`${path} can’t be read: extract it and select the folder, or pack it as a .tar.gz archive.`)
  return /\.(?:tar\.gz|tgz)$/i.test(path)
}

async function archiveSource(content: File): Promise<Source> {
  const { name, size } = content
  if (size > MAX_ARCHIVE_BYTES)
    throw new SourceError(`${name} has ${byteSize(size)}: at most ${byteSize(MAX_ARCHIVE_BYTES)} can be uploaded.`)
  const source = { kind: 'archive', name, content, bytes: size, ignored: 0, ignoredBy: [] } as const
  if (size > MAX_LISTED_BYTES) return { ...source, files: undefined }
  const archive = await readArchive(content).catch((cause: unknown) => {
    throw new SourceError(`${name} is not a valid .tar.gz archive.`, { cause })
  })
  const rules = archive.entries.find(({ path, type }) => type === 'File' && path === '.terraformignore')
  const ruleOf = ignoreRules(rules && entryText(archive, rules))
  const { kept = [], ignored = [] } = Object.groupBy(archive.entries, ({ path }) =>
    ruleOf(path) === undefined ? 'kept' : 'ignored',
  )
  const seen = newSeenEntries()
  for (const entry of kept) {
    const problem = entryProblem(entry, seen)
    if (problem !== undefined) throw new SourceError(`${name} can’t be used: its entry ${entry.path} ${problem}.`)
  }
  const files = kept.filter(isFile).map(({ path, size: bytes }) => ({ path, size: bytes }))
  if (ignored.length === 0) return { ...source, files }
  const rest = await repackArchive(archive, ignored)
  return { ...source, content: rest, bytes: rest.size, files, ...leftOut(ignored.filter(isFile), ruleOf) }
}

function isFile({ type }: { type: string }) {
  return type === 'File'
}

/** The content of a single selected directory, or the files as selected. */
function withoutTopDirectory(selected: readonly SourceFile[]) {
  const tops = new Set(selected.map(({ path }) => path.slice(0, path.indexOf('/') + 1)))
  const [top = ''] = tops
  if (tops.size > 1 || top === '')
    return {
      name: selected.length === 1 ? (selected[0]?.path ?? '') : counted(selected.length, 'file'),
      files: selected,
    }
  return { name: top.slice(0, -1), files: selected.map((each) => ({ ...each, path: each.path.slice(top.length) })) }
}

function checked(source: Source, kind: SourceKind): Source {
  if (kind === 'policies') {
    if (source.files?.every(({ path }) => !/(?:^|\/)policies\.hcl$/.test(path)) === true)
      throw new SourceError(`There is no policies.hcl in ${source.name}. Select the folder that contains it.`)
    return source
  }
  if (source.files && configurationDirectories(source.files).length === 0)
    throw new SourceError(`There are no .tf files in ${source.name}. Select the folder that contains main.tf.`)
  return source
}

/** The directories with files of the engine; the root is ''. Modules are among them. */
export function configurationDirectories(files: readonly { path: string }[]) {
  const paths = files.map(({ path }) => path).filter((path) => /\.(?:tf|tofu)(?:\.json)?$/.test(path))
  return [...new Set(paths.map((path) => path.slice(0, Math.max(0, path.lastIndexOf('/')))))].toSorted(
    (a, b) => a.split('/').length - b.split('/').length || a.localeCompare(b),
  )
}

/** The files of a form field; a directory's have the path from its name on. */
export function filesOfInput(list: FileList): SourceFile[] {
  return [...list].map((file) => ({ path: file.webkitRelativePath || file.name, file }))
}

/** The files of a drop, read recursively. Must be called before the event ends. */
export async function filesOfDrop({ items }: DataTransfer): Promise<SourceFile[]> {
  // The list is emptied when the event ends. A file that is not from the file system has no entry.
  const dropped = [...items].map((item) => item.webkitGetAsEntry() ?? item.getAsFile())
  const files: SourceFile[] = []
  for (const each of dropped) {
    if (each instanceof File) files.push({ path: each.name, file: each })
    else if (each) await collect(each, files)
  }
  return files
}

async function collect(entry: FileSystemEntry, files: SourceFile[]) {
  const path = entry.fullPath.replace(/^\//, '')
  // Not all browsers have the classes of entries.
  if (entry.isFile) {
    const file = new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))
    files.push({ path, file: await file })
    if (files.length > MAX_FILES * 2)
      throw new SourceError(`The folder has more than ${counted(MAX_FILES * 2, 'file')}. Select a smaller one.`)
    return
  }
  // Large directories that are never uploaded.
  if (/(?:^|\/)(?:\.git|\.terraform\/providers)$/.test(path)) return
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  const readSome = async () => new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
  // Each call returns at most a hundred entries.
  for (let some = await readSome(); some.length > 0; some = await readSome())
    for (const child of some) await collect(child, files)
}
