import { getRouteApi } from '@tanstack/react-router'
import { CircleCheck, RotateCw, Trash2 } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { CollapsedText } from '../../components/collapsed-text.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState, loaded } from '../../components/feedback.tsx'
import { ActiveFilters } from '../../components/filters.tsx'
import { counted } from '../../components/numbers.ts'
import { attempt, toast } from '../../components/overlay-hosts.tsx'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { type FailedJob, actOnJobs, useFailedJobs } from './health.ts'

const route = getRouteApi('/frame/app/admin/jobs')

export function JobsPage() {
  const { q: kind, page } = route.useSearch()
  const navigate = route.useNavigate()
  const { data, fallback } = loaded(useFailedJobs({ kind, page }), { rows: 5 })
  const total = data?.meta.pagination['total-count'] ?? 0
  const all = kind === undefined ? counted(total, 'failed job') : `${counted(total, 'failed job')} of ${kind}`
  return (
    <Page
      title="Failed jobs"
      about={
        <>
          Background jobs whose attempts have all failed, for a day. Find the cause, then{' '}
          <DocsLink page="operations" anchor="retry-failed-jobs">
            retry them
          </DocsLink>
          .
        </>
      }
      actions={
        <>
          <CopyCurl path="/admin/failed-jobs" />
          {total > 0 && (
            <>
              <Confirm
                kind="plain"
                icon={RotateCw}
                label="Retry all"
                title={`Retry ${all}?`}
                consequence="Each of them runs once more. Jobs can safely run twice."
                action="Retry all"
                onConfirm={async () =>
                  toast({ text: `${counted(await actOnJobs('retry', { kind }), 'job')} will run again` })
                }
              />
              <Confirm
                icon={Trash2}
                label="Discard all"
                title={`Discard ${all}?`}
                consequence="Their work is not done. This can’t be undone."
                action="Discard all"
                onConfirm={async () =>
                  toast({ text: `${counted(await actOnJobs('discard', { kind }), 'job')} discarded` })
                }
              />
            </>
          )}
        </>
      }
    >
      {kind !== undefined && (
        <div className="mb-3">
          <ActiveFilters
            filters={[{ name: 'Kind', value: kind, onRemove: () => void navigate({ search: {} }) }]}
            onClear={() => void navigate({ search: {} })}
          />
        </div>
      )}
      {!data && fallback}
      {data?.data.length === 0 && (
        <EmptyState
          icon={CircleCheck}
          title="No failed jobs"
          text="Jobs that fail are retried for a while, with growing delays. Those that keep failing are listed here."
          actions={
            (kind !== undefined || page !== undefined) && (
              <Button label="Show all" onClick={() => void navigate({ search: {} })} />
            )
          }
        />
      )}
      {data && data.data.length > 0 && (
        <>
          <Table label="Failed jobs" columns={columns((of) => void navigate({ search: { q: of } }))} rows={data.data} />
          <Pager
            pagination={data.meta.pagination}
            onPage={(to) => void navigate({ search: (before) => ({ ...before, page: to }) })}
          />
        </>
      )}
    </Page>
  )
}

function columns(onKind: (kind: string) => void): readonly Column<FailedJob>[] {
  return [
    {
      header: 'Job',
      cell: ({ attributes: { kind, subjects } }) => (
        <>
          <button
            type="button"
            title="Show jobs of this kind"
            className="cursor-pointer font-medium hover:underline"
            onClick={() => onKind(kind)}
          >
            {kind}
          </button>
          {subjects.map((id) => (
            <span key={id} className="block font-mono text-xs break-all text-dim">
              {id}
            </span>
          ))}
        </>
      ),
    },
    {
      header: 'Error',
      className: 'min-w-48',
      cell: ({ attributes: { error } }) => <CollapsedText text={error ?? 'unknown'} maxLines={3} />,
    },
    {
      header: 'Attempts',
      className: 'max-sm:hidden',
      cell: ({ attributes }) => <span className="numeric">{attributes.attempts}</span>,
    },
    { header: 'Failed', cell: ({ attributes }) => <RelativeTime at={attributes['failed-at']} /> },
    {
      header: 'Actions',
      isHeaderHidden: true,
      className: 'text-right',
      cell: ({ id, attributes: { kind } }) => (
        <RowMenu
          label={`Actions for ${kind}`}
          actions={[
            {
              text: 'Retry',
              icon: RotateCw,
              onSelect: () => void attempt(async () => retry(id)),
            },
            {
              text: 'Discard',
              icon: Trash2,
              confirm: {
                title: 'Discard the job?',
                consequence: 'Its work is not done. This can’t be undone.',
                action: 'Discard job',
                done: 'Job discarded',
                onConfirm: async () => actOnJobs('discard', { id }),
              },
            },
          ]}
        />
      ),
    },
  ]
}

async function retry(id: string) {
  await actOnJobs('retry', { id })
  toast({ text: 'The job will run again' })
}
