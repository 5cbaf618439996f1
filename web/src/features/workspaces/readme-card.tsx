import type { DocumentOnWire } from '@groundstate/contract/responses'
import type { workspaceReadmeSchema } from '@groundstate/contract/workspace-resources'
import { useQuery } from '@tanstack/react-query'
import { Suspense, lazy } from 'react'
import { get } from '../../api/client.ts'
import { Card } from '../../components/card.tsx'
import { Notice, Skeleton } from '../../components/feedback.tsx'
import type { WorkspaceResource } from './workspace.ts'

const MarkdownText = lazy(async () => import('../../components/markdown.tsx'))

/** The README of the current configuration; nothing when there is none. */
export function ReadmeCard({ workspace }: { workspace: WorkspaceResource }) {
  const version = workspace.relationships['current-configuration-version'].data?.id
  const readme = useQuery({
    queryKey: ['workspace-readmes', workspace.id, version],
    enabled: version !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => {
      // The response is empty where there is none.
      const path = `/workspaces/${workspace.id}/readme`
      const document = await get<DocumentOnWire<typeof workspaceReadmeSchema> | undefined>(path)
      return document?.data.attributes ?? null
    },
  })
  if (!readme.data) return null
  const { path, 'raw-markdown': text, 'is-cut': isCut } = readme.data
  return (
    <Card title={<code>{path}</code>}>
      <Suspense fallback={<Skeleton rows={5} />}>
        <MarkdownText text={text} />
      </Suspense>
      {isCut && <Notice>This is the beginning of the file; the rest is too long to be shown.</Notice>}
    </Card>
  )
}
