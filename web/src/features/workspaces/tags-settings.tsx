import type { PageOnWire } from '@groundstate/contract/responses'
import type { tagBindingSchema } from '@groundstate/contract/tags'
import { useQuery } from '@tanstack/react-query'
import { getData } from '../../api/client.ts'
import { includedOf, useChange } from '../../api/queries.ts'
import { Card } from '../../components/card.tsx'
import { loaded } from '../../components/feedback.tsx'
import { replaceTags } from './bulk-actions.ts'
import type { Tag } from './tag-filter.ts'
import { TagList, TagsForm } from './tags-form.tsx'
import { useOpenWorkspace } from './workspace.ts'

export function TagsSettings() {
  const { organization, document, workspace } = useOpenWorkspace()
  const replace = useReplaceTags(organization, workspace.id)
  const { data: tags, fallback } = loaded(useOwnTags(workspace.id), { rows: 2 })
  const inherited = includedOf(document)
    .many('effective-tag-bindings', workspace.relationships['effective-tag-bindings'])
    .filter(({ relationships }) => relationships?.['inherited-from'] !== undefined)
    .map(({ attributes }) => attributes)
  if (!tags) return <Card title="Tags">{fallback}</Card>
  if (workspace.attributes.permissions['can-manage-tags'])
    return (
      <TagsForm
        about="Tags group workspaces: filter lists by them, or select workspaces by tags in a cloud block."
        saved={tags}
        inherited={inherited}
        onSave={async (changed) => replace.mutateAsync({ saved: tags, tags: changed })}
      />
    )
  return (
    <Card title="Tags">
      <TagList tags={[...tags, ...inherited]} />
    </Card>
  )
}

/** The tags of the workspace itself, without those of its project. */
function useOwnTags(workspaceId: string) {
  return useQuery({
    queryKey: ['workspaces', workspaceId, 'tags'],
    queryFn: async () => {
      const data = await getData<PageOnWire<typeof tagBindingSchema>>(`/workspaces/${workspaceId}/tag-bindings`)
      return data.map(({ attributes: { key, value } }): Tag => ({ key, value }))
    },
  })
}

function useReplaceTags(organization: string, workspaceId: string) {
  return useChange(
    async ({ saved, tags }: Record<'saved' | 'tags', readonly Tag[]>) => replaceTags(workspaceId, saved, tags),
    ['workspaces', workspaceId, 'tags'],
    ['workspaces', organization],
  )
}
