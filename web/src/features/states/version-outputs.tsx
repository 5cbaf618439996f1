import { useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { ErrorNote, Notice, Skeleton } from '../../components/feedback.tsx'
import { Pager } from '../../components/pager.tsx'
import { Table } from '../../components/table.tsx'
import { OUTPUT_COLUMNS } from '../workspaces/outputs-card.tsx'
import { useVersionOutputs } from './states.ts'

/** The outputs of a version; a sensitive one is revealed by itself, which the audit trail keeps. */
export function VersionOutputs({ id }: { id: string }) {
  const [page, setPage] = useState(1)
  const { data, error, isPending, refetch } = useVersionOutputs(id, page)
  if (isPending) return <Skeleton rows={4} label="Loading the outputs" />
  if (error)
    return error instanceof ApiError && error.status === 503 ? (
      <Notice role="status">The outputs are being read from the state. They come here by themselves.</Notice>
    ) : (
      <ErrorNote error={error} onRetry={() => void refetch()} />
    )
  if (data.data.length === 0) return <p className="text-dim">This state has no outputs.</p>
  return (
    <>
      <Table label="Outputs" columns={OUTPUT_COLUMNS} rows={data.data} />
      <Pager pagination={data.meta.pagination} onPage={setPage} />
    </>
  )
}
