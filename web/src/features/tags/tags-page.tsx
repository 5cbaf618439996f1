import { getRouteApi } from '@tanstack/react-router'
import { Tags, Trash2 } from 'lucide-react'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { ListLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { SearchedList } from '../../components/searched-list.tsx'
import { TagBadge } from '../../components/status.tsx'
import { type Column, Count, Table } from '../../components/table.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { tagLabel, tagText } from '../workspaces/tag-filter.ts'
import { ReservedKeys } from './reserved-keys.tsx'
import { type TagValue, useDeleteTag, useReservedTagKeys, useTagValues } from './tags.ts'

const route = getRouteApi('/frame/app/$organization/settings/tags')

export function TagsPage() {
  const { organization } = route.useParams()
  const { new: isNew = false, ...search } = route.useSearch()
  const navigate = route.useNavigate()
  const mayManage = useOrganizationPermissions(organization)?.['can-manage-tags'] === true
  const tags = useTagValues(organization, search)
  const reserved = new Set(useReservedTagKeys(organization).data?.map(({ attributes }) => attributes.key))
  const remove = useDeleteTag(organization)
  const columns: readonly Column<TagValue>[] = [
    { header: 'Tag', cell: ({ attributes }) => <TagName tag={attributes} isReserved={reserved.has(attributes.key)} /> },
    {
      header: 'Workspaces',
      className: 'w-px text-right',
      cell: ({ attributes: { 'workspace-count': count, ...tag } }) =>
        count === 0 ? (
          <span className="numeric text-dim">0</span>
        ) : (
          <ListLink list="workspaces" search={{ tag: tagText(tag) }} className="numeric hover:underline">
            {count.toLocaleString('en')}
          </ListLink>
        ),
    },
    {
      header: 'Projects',
      className: 'w-px text-right',
      cell: ({ attributes: { 'project-count': count } }) => <Count value={count} />,
    },
    ...(mayManage
      ? [
          {
            header: 'Actions',
            isHeaderHidden: true,
            className: 'w-px text-right',
            cell: (tag: TagValue) => <TagMenu tag={tag} onDelete={async (id) => remove.mutateAsync(id)} />,
          },
        ]
      : []),
  ]
  return (
    <Page
      title="Tags"
      actions={<CopyCurl path={`/organizations/${organization}/tag-values`} />}
      about="Tags of workspaces and projects. Set them in the settings of a workspace or project, or in a cloud block."
    >
      <div className="space-y-6">
        <section aria-label="Tags in use">
          <SearchedList
            noun="tags"
            query={tags}
            search={search}
            onSearch={(change, replace) => void navigate({ search: (before) => ({ ...before, ...change }), replace })}
            empty={
              <EmptyState icon={Tags} title="No tags yet">
                <p>
                  Tags group workspaces: filter lists by them, or select workspaces by tags in a cloud block. Add them
                  in the settings of a workspace or a project.
                </p>
              </EmptyState>
            }
          >
            {(rows) => <Table label={`Tags of ${organization}`} rows={rows} columns={columns} />}
          </SearchedList>
        </section>
        <ReservedKeys
          organization={organization}
          mayManage={mayManage}
          isNew={isNew}
          onNew={(open) =>
            void navigate({ search: (before) => ({ ...before, new: open || undefined }), replace: true })
          }
        />
      </div>
    </Page>
  )
}

function TagName({ tag, isReserved }: { tag: TagValue['attributes']; isReserved: boolean }) {
  return (
    <span className="flex flex-wrap items-center gap-2">
      <TagBadge text={tagLabel(tag)} />
      {isReserved && <span className="text-dim">reserved key</span>}
    </span>
  )
}

type TagMenuProps = { tag: TagValue; onDelete: (id: string) => Promise<unknown> }

function TagMenu({ tag: { id, attributes }, onDelete }: TagMenuProps) {
  const label = tagLabel(attributes)
  return (
    <RowMenu
      label={`Actions for ${label}`}
      actions={[
        {
          text: 'Delete tag',
          icon: Trash2,
          confirm: {
            title: `Delete ${label}?`,
            consequence:
              'It is removed from every workspace that has it, including those you can’t see. Projects keep it, and their workspaces inherit it.',
            action: 'Delete tag',
            done: `${label} deleted`,
            onConfirm: async () => onDelete(id),
          },
        },
      ]}
    />
  )
}
