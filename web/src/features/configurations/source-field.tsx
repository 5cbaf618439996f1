import { FileArchive, FolderOpen, Upload } from 'lucide-react'
import { type ChangeEvent, useId, useRef, useState } from 'react'
import { errorOf } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Notice, Skeleton } from '../../components/feedback.tsx'
import { useFileDrop } from '../../components/file-drop.ts'
import { byteSize, capitalized, counted } from '../../components/numbers.ts'
import type { SourceFile } from './archive.ts'
import { type Source, SourceError, type SourceKind, filesOfDrop, filesOfInput, sourceOf } from './source.ts'

/** Files beyond this number are only counted. */
const MAX_SHOWN = 200

/** Missing in the types of React. */
const DIRECTORY = { webkitdirectory: '' }

const NEEDED = { configuration: '.tf files', policies: 'policies.hcl' } as const satisfies Record<SourceKind, string>

type SourceFieldProps = {
  kind?: SourceKind
  source: Source | undefined
  onChange: (source: Source | undefined) => void
}

/** Selects a directory, files or an archive, by dropping or with a file dialog, and lists what will be uploaded. */
export function SourceField({ kind = 'configuration', source, onChange }: SourceFieldProps) {
  const [isReading, setIsReading] = useState(false)
  const [problem, setProblem] = useState<string>()
  const directory = useRef<HTMLInputElement>(null)
  const files = useRef<HTMLInputElement>(null)
  const hint = useId()

  /** A selection that cannot be uploaded leaves the previous one in place. */
  async function select(read: Promise<readonly SourceFile[]>) {
    setIsReading(true)
    setProblem(undefined)
    try {
      onChange(await sourceOf(await read, kind))
    } catch (cause) {
      const detail = errorOf(cause).message
      setProblem(cause instanceof SourceError ? detail : `The selection can’t be read: ${detail}`)
    } finally {
      setIsReading(false)
    }
  }
  function onInput({ currentTarget }: ChangeEvent<HTMLInputElement>) {
    const { files: list } = currentTarget
    if (list && list.length > 0) void select(Promise.resolve(filesOfInput(list)))
    // The same directory can be selected again after a change.
    currentTarget.value = ''
  }
  const isOver = useFileDrop((dropped) => void select(filesOfDrop(dropped)))
  return (
    <div className="space-y-3">
      <div
        role="group"
        aria-label={capitalized(kind)}
        aria-describedby={hint}
        className={`rounded-lg border border-dashed px-4 text-center ${source ? 'py-3' : 'py-8'} ${isOver ? 'border-accent bg-accent-soft' : 'border-line-strong'}`}
      >
        {!source && <Upload size={22} className="mx-auto mb-2 text-dim" />}
        <p id={hint} className={source ? 'sr-only' : 'mb-3 text-dim'}>
          Drop a folder with {NEEDED[kind]}, or a .tar.gz archive, here.
        </p>
        <div className="flex flex-wrap justify-center gap-2">
          <Button
            label={source ? 'Select another folder' : 'Select folder'}
            size={source ? 'small' : 'medium'}
            icon={FolderOpen}
            onClick={() => directory.current?.click()}
          />
          <Button
            label="Select archive or files"
            size={source ? 'small' : 'medium'}
            icon={FileArchive}
            onClick={() => files.current?.click()}
          />
        </div>
        <input ref={directory} type="file" {...DIRECTORY} hidden aria-label="Folder" onChange={onInput} />
        <input ref={files} type="file" multiple hidden aria-label="Archive or files" onChange={onInput} />
      </div>
      {problem !== undefined && (
        <Notice tone="bad" role="alert">
          {problem}
        </Notice>
      )}
      {isReading ? <Skeleton rows={1} label="Reading the files" /> : source && <SourceSummary source={source} />}
    </div>
  )
}

function SourceSummary({ source: { kind, name, files, bytes, ignored, ignoredBy } }: { source: Source }) {
  const more = (files?.length ?? 0) - MAX_SHOWN
  const hasState = files?.some(({ path }) => path.endsWith('.tfstate')) ?? false
  return (
    <div className="space-y-2">
      <p role="status">
        <b className="font-medium">{name}</b>: {files ? `${counted(files.length, 'file')}, ` : ''}
        {byteSize(bytes)}
        {kind === 'files' && ' before compression'}
        {ignored > 0 && (
          <span className="text-dim">
            . {counted(ignored, 'file')} left out (
            {ignoredBy.map((rule, index) => [index > 0 && ', ', <code key={rule}>{rule}</code>])})
          </span>
        )}
        .
      </p>
      {hasState && (
        <Notice tone="warn">
          A state file is included. It is not used here: import it as the state of the workspace instead.
        </Notice>
      )}
      {files && (
        <details>
          <summary className="text-accent">Show files</summary>
          <ul
            aria-label="Files to upload"
            tabIndex={0}
            className="mt-1 max-h-48 divide-y divide-line overflow-y-auto rounded-md border border-line"
          >
            {files.slice(0, MAX_SHOWN).map(({ path, size }) => (
              <li key={path} className="flex justify-between gap-3 px-3 py-1">
                <code className="min-w-0">{path}</code>
                <span className="numeric shrink-0 text-dim">{byteSize(size)}</span>
              </li>
            ))}
            {more > 0 && <li className="px-3 py-1 text-dim">and {counted(more, 'file')} more</li>}
          </ul>
        </details>
      )}
    </div>
  )
}
