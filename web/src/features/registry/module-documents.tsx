import { Suspense, lazy } from 'react'
import { CollapsedText } from '../../components/collapsed-text.tsx'
import { EmptyState, Notice, Skeleton } from '../../components/feedback.tsx'
import { Badge } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import type { DocumentedModule, ModuleDocuments } from './registry.ts'

const MarkdownText = lazy(async () => import('../../components/markdown.tsx'))

export function Readme({ module: { readme } }: { module: DocumentedModule }) {
  if (!readme) return <EmptyState title="No README" text="A README.md in the directory of the module is shown here." />
  return (
    <div className="rounded-lg border border-line bg-paper px-4 py-4">
      <Suspense fallback={<Skeleton rows={5} />}>
        <MarkdownText text={readme.markdown} />
      </Suspense>
      {readme['is-cut'] && <Notice>Only the beginning of this file is shown.</Notice>}
    </div>
  )
}

type Input = DocumentedModule['inputs'][number]

const INPUT_COLUMNS: readonly Column<Input & { id: string }>[] = [
  {
    header: 'Name',
    className: 'align-top',
    cell: ({ name, required, sensitive }) => (
      <span className="inline-flex flex-wrap items-center gap-1.5">
        <code className="font-medium">{name}</code>
        {required && <Badge tone="accent" text="required" />}
        {sensitive && <Badge text="sensitive" />}
      </span>
    ),
  },
  {
    header: 'Type',
    className: 'align-top',
    cell: ({ type }) => <Code text={type ?? 'any'} />,
  },
  {
    header: 'Description',
    className: 'align-top min-w-48',
    cell: ({ description }) => <span className="whitespace-pre-line">{description}</span>,
  },
  {
    header: 'Default',
    className: 'align-top',
    cell: ({ default: value, required, sensitive }) =>
      value === null ? (
        <span className="text-dim">{required ? 'none' : sensitive ? 'not shown' : ''}</span>
      ) : (
        <Code text={value} />
      ),
  },
]

function Code({ text }: { text: string }) {
  return (
    <code className="block font-mono text-[0.9285em] break-words whitespace-pre-wrap">
      <CollapsedText text={text} maxLines={8} />
    </code>
  )
}

/** Required inputs first. */
export function Inputs({ module: { inputs } }: { module: DocumentedModule }) {
  const sorted = inputs.toSorted((a, b) => Number(b.required) - Number(a.required))
  return <Rows label="Inputs" rows={sorted} columns={INPUT_COLUMNS} none="The module has no inputs" />
}

export function Outputs({ module: { outputs } }: { module: DocumentedModule }) {
  return (
    <Rows
      label="Outputs"
      rows={outputs}
      none="The module has no outputs"
      columns={[
        {
          header: 'Name',
          className: 'align-top',
          cell: ({ name, sensitive }) => (
            <span className="inline-flex flex-wrap items-center gap-1.5">
              <code className="font-medium">{name}</code>
              {sensitive && <Badge text="sensitive" />}
            </span>
          ),
        },
        {
          header: 'Description',
          cell: ({ description }) => <span className="whitespace-pre-line">{description}</span>,
        },
      ]}
    />
  )
}

type Dependency = DocumentedModule['dependencies'][number] & { kind: string }

export function Dependencies({ module }: { module: DocumentedModule }) {
  const rows: Dependency[] = [
    ...(module['required-version'] === null
      ? []
      : [{ kind: 'Engine', name: 'terraform or tofu', source: '', version: module['required-version'] }]),
    ...module.providers.map((provider) => ({ ...provider, kind: 'Provider' })),
    ...module.dependencies.map((dependency) => ({ ...dependency, kind: 'Module' })),
  ]
  return (
    <Rows
      label="Dependencies"
      rows={rows}
      none="The module depends on nothing"
      columns={[
        { header: 'Kind', cell: ({ kind }) => kind },
        { header: 'Name', cell: ({ name }) => <code className="font-medium">{name}</code> },
        { header: 'Source', cell: ({ source }) => <code className="break-all">{source}</code> },
        {
          header: 'Version',
          cell: ({ version }) => (version === null ? <span className="text-dim">any</span> : <code>{version}</code>),
        },
      ]}
    />
  )
}

const MODES = { managed: 'resource', data: 'data source', ephemeral: 'ephemeral resource' } as const

export function Resources({ module: { resources } }: { module: DocumentedModule }) {
  return (
    <Rows
      label="Resources"
      rows={resources}
      none="The module has no resources"
      columns={[
        { header: 'Type', cell: ({ type }) => <code className="font-medium">{type}</code> },
        { header: 'Name', cell: ({ name }) => <code>{name}</code> },
        { header: 'Kind', cell: ({ mode }) => MODES[mode] },
      ]}
    />
  )
}

type RowsProps<Row> = {
  label: string
  rows: readonly Row[]
  columns: readonly Column<Row & { id: string }>[]
  none: string
}

function Rows<Row extends object>({ label, rows, columns, none }: RowsProps<Row>) {
  if (rows.length === 0) return <EmptyState title={none} />
  return (
    <Table
      isFocusable
      label={label}
      rows={rows.map((row, index) => ({ ...row, id: String(index) }))}
      columns={columns}
    />
  )
}

const MAX_PROBLEMS = 5

/** The files of a version that could not be read. */
export function DocumentProblems({ problems }: { problems: ModuleDocuments['problems'] }) {
  if (problems.length === 0) return null
  const lines = problems.slice(0, MAX_PROBLEMS).map(({ path, message }) => {
    return path === '' || message.startsWith(path) ? message : `${path}: ${message}`
  })
  const more = problems.length - lines.length
  return (
    <Notice tone="warn">
      {['Problems of this version:', ...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('\n')}
    </Notice>
  )
}
