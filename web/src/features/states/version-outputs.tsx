import { useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { failureOf } from '../../api/queries.ts'
import { ErrorNote, Notice, Skeleton } from '../../components/feedback.tsx'
import { Pager } from '../../components/pager.tsx'
import { Table } from '../../components/table.tsx'
import { OUTPUT_COLUMNS } from '../workspaces/outputs-card.tsx'
import { useVersionOutputs } from './states.ts'

/** The outputs of a version; a sensitive one is revealed by itself, which the audit trail keeps. */
export function VersionOutputs({ id }: { id: string }) {
  const [page, setPage] = useState(1)
  const outputs = useVersionOutputs(id, page)
  const failure = failureOf(outputs)
  const { data } = outputs
  if (failure)
    return failure.error instanceof ApiError && failure.error.status === 503 ? (
      <Notice role="status">The outputs are being read from the state. They come here by themselves.</Notice>
    ) : (
      <ErrorNote {...failure} />
    )
  if (!data) return <Skeleton rows={4} label="Loading the outputs" />
  if (data.data.length === 0) return <p className="text-dim">This state has no outputs.</p>
  return (
    <>
      <Table label="Outputs" columns={OUTPUT_COLUMNS} rows={data.data} />
      <Pager pagination={data.meta.pagination} onPage={setPage} />
    </>
  )
}
