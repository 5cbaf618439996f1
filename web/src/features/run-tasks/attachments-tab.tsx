import type { Stage } from '@groundstate/contract/run-tasks'
import { Boxes, Globe, OctagonX, Plus, SearchX, TriangleAlert } from 'lucide-react'
import { Button, buttonClass } from '../../components/button.tsx'
import { EmptyState, loaded } from '../../components/feedback.tsx'
import { FilterChips, SearchField } from '../../components/filters.tsx'
import { WorkspaceLink } from '../../components/links.tsx'
import { attempt } from '../../components/overlay-hosts.tsx'
import { Pager } from '../../components/pager.tsx'
import { type RowAction, RowMenu } from '../../components/row-menu.tsx'
import { Table } from '../../components/table.tsx'
import { type AttachmentRow, changeAttachment, useAttachmentRows, withStage } from './attachments.ts'
import { taskRoute, useChangeTaskSearch } from './run-tasks.ts'
import { LEVELS, type Level, STAGES, STAGE_NAMES, type Task, everywhereOf } from './workspace-tasks.ts'

/** Workspaces and the stages at which their runs call the task; each cell changes one stage. */
export function AttachmentsTab({ task }: { task: Task }) {
  const { organization } = taskRoute.useParams()
  const { q, page, all } = taskRoute.useSearch()
  const change = useChangeTaskSearch()
  const { data, fallback } = loaded(useAttachmentRows(organization, task.id, { q, page, all }), { rows: 8 })
  const isFiltered = q !== undefined || page !== undefined
  const isEmpty = data?.rows.length === 0
  const { enabled: isGlobal } = everywhereOf(task)

  if (isEmpty && !isFiltered)
    return (
      <EmptyState
        icon={Boxes}
        title={all ? 'No workspaces yet' : 'Not attached to a workspace'}
        actions={
          !all && <Button label="Select workspaces" icon={Plus} kind="primary" onClick={() => change({ all: true })} />
        }
      >
        {all ? (
          <p>Run tasks check the runs of workspaces. Create a workspace first.</p>
        ) : (
          <p>
            {isGlobal
              ? 'The task runs in every workspace. Attach it to some of them to add stages or make it mandatory there.'
              : 'The task is not called until it is attached to a workspace, or set to run in every workspace in its settings.'}
          </p>
        )}
      </EmptyState>
    )
  return (
    <div>
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <SearchField
          label="Search workspaces"
          value={q ?? ''}
          onChange={(text) => change({ q: text || undefined, page: undefined }, { replace: true })}
        />
        <FilterChips
          label="Workspaces"
          chips={[{ value: 'all', text: 'Show all workspaces' }]}
          selected={new Set(all ? ['all'] : [])}
          onToggle={() => change({ all: all ? undefined : true, page: undefined })}
        />
      </div>
      {isGlobal && <GlobalNote task={task} />}
      {!data && fallback}
      {isEmpty && (
        <EmptyState
          icon={SearchX}
          title={page === undefined ? 'No workspaces match' : 'No workspaces on this page'}
          actions={<Button label="Clear filters" onClick={() => change({ q: undefined, page: undefined })} />}
        />
      )}
      {data && !isEmpty && (
        <>
          <Matrix task={task} rows={data.rows} />
          <Pager
            pagination={data.pagination}
            onPage={(number) => change({ page: number === 1 ? undefined : number })}
          />
        </>
      )}
    </div>
  )
}

function GlobalNote({ task }: { task: Task }) {
  const { stages, 'enforcement-level': level } = everywhereOf(task)
  return (
    <p className="mb-3 flex items-center gap-1.5 text-dim">
      <Globe size={15} className="shrink-0" />
      <span>
        Every workspace calls it: {stages.map((stage) => STAGES[stage].text.toLowerCase()).join(', ')},{' '}
        {LEVELS[level].text.toLowerCase()}. Attachments add to this.
      </span>
    </p>
  )
}

function Matrix({ task, rows }: { task: Task; rows: readonly AttachmentRow[] }) {
  return (
    <Table
      label={`Workspaces and stages of ${task.attributes.name}`}
      rows={rows}
      columns={[
        {
          header: 'Workspace',
          className: 'min-w-36',
          cell: ({ workspace }) => (
            <WorkspaceLink workspace={workspace.attributes.name} tab="tasks" className="font-medium hover:underline" />
          ),
        },
        ...STAGE_NAMES.map((stage) => ({
          header: STAGES[stage].text,
          className: 'min-w-28',
          cell: (row: AttachmentRow) => <Cell task={task} row={row} stage={stage} />,
        })),
      ]}
    />
  )
}

type CellProps = { task: Task; row: AttachmentRow; stage: Stage }

const LEVEL_ICONS = { advisory: TriangleAlert, mandatory: OctagonX } as const
const LEVEL_TONES = { advisory: 'text-warn', mandatory: 'text-bad' } as const

function Cell({ task, row: { workspace, attachment }, stage }: CellProps) {
  const { name, permissions } = workspace.attributes
  const attributes = attachment?.attributes
  const mayChange = permissions['can-manage-run-tasks']
  const level = attributes?.stages.includes(stage) ? attributes['enforcement-level'] : undefined
  const Icon = level && LEVEL_ICONS[level]
  const look = (
    <>
      {Icon && <Icon size={15} />}
      {level ? LEVELS[level].text : mayChange ? <Plus size={15} /> : '—'}
    </>
  )
  const tone = level ? LEVEL_TONES[level] : 'text-dim'
  const place = `${name}, ${STAGES[stage].text}`
  if (!mayChange)
    return (
      <span className={`inline-flex items-center gap-1.5 ${tone}`}>
        {look}
        {!level && <span className="sr-only">not called</span>}
      </span>
    )

  const set = (next: Level | undefined) => {
    const after = withStage(attributes, stage, next)
    const text = next ? `${task.attributes.name} is ${next} in ${place}` : `${task.attributes.name} removed: ${place}`
    return changeAttachment({ workspaceId: workspace.id, taskId: task.id, before: attachment, after, done: text })
  }
  return (
    <RowMenu
      label={`Change ${place}`}
      header={others(attributes?.stages ?? [], stage) && 'One level applies to all stages of a workspace'}
      trigger={
        <button
          type="button"
          aria-label={`${place}: ${level ? LEVELS[level].text : 'not called'}. Change`}
          className={`${buttonClass({ kind: 'quiet', size: 'small' })} -ml-2 ${tone}`}
        >
          {look}
        </button>
      }
      actions={[
        ...(Object.keys(LEVELS) as Level[]).map((choice): RowAction => ({
          text: LEVELS[choice].text,
          icon: LEVEL_ICONS[choice],
          isChecked: choice === level,
          onSelect: () => choice !== level && void attempt(async () => set(choice)),
        })),
        removal({ level, name, place, isLast: attributes?.stages.length === 1, onRemove: async () => set(undefined) }),
      ]}
    />
  )
}

type Removal = {
  level: Level | undefined
  name: string
  place: string
  isLast: boolean
  onRemove: () => Promise<unknown>
}

/** Only the removal of a mandatory task is confirmed: runs then continue without it. Others can be undone. */
function removal({ level, name, place, isLast, onRemove }: Removal): RowAction {
  const text = isLast ? 'Detach' : 'Not called'
  if (level === undefined) return { text: 'Not called', isChecked: true, onSelect: () => {} }
  if (level === 'advisory') return { text, onSelect: () => void attempt(onRemove) }
  return {
    text,
    confirm: {
      title: isLast ? `Detach it from ${name}?` : `Remove it from ${place}?`,
      consequence: 'The task is mandatory here. New runs will no longer wait for it.',
      action: text === 'Detach' ? 'Detach' : 'Remove stage',
      onConfirm: onRemove,
    },
  }
}

function others(stages: readonly Stage[], stage: Stage) {
  return stages.some((other) => other !== stage)
}
