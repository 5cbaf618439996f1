import { Trash2 } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { Card, DescriptionList } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { useDeleteAndLeave } from '../../components/delete-and-leave.ts'
import { fieldError, RadioField, SelectField, TextArea, TextField } from '../../components/form.tsx'
import { ListLink } from '../../components/links.tsx'
import { counted } from '../../components/numbers.ts'
import { SettingsForm, errorAt, useDraft } from '../../components/settings-form.tsx'
import { useOrganization } from '../organizations/organizations.ts'
import { MODES, type Mode } from '../workspaces/execution-fields.tsx'
import { useAgentPools } from '../workspaces/new-workspace.ts'
import { TagList, TagsForm } from '../workspaces/tags-form.tsx'
import { type Project, type ShownProject, useReplaceProjectTags, useUpdateProject } from './projects.ts'

type SettingsProps = ShownProject & { organization: string; isDefault: boolean }

export function ProjectSettings({ organization, isDefault, project, tags }: SettingsProps) {
  const { permissions } = project.attributes
  const replaceTags = useReplaceProjectTags(project.id)
  return (
    <div className="max-w-4xl space-y-4">
      <GeneralSettings project={project} />
      <ExecutionSettings organization={organization} project={project} />
      {permissions['can-manage-tags'] ? (
        <TagsForm
          about="The workspaces of the project inherit its tags."
          saved={tags}
          onSave={async (changed) => replaceTags.mutateAsync(changed)}
        />
      ) : (
        <Card title="Tags">
          <TagList tags={tags} />
        </Card>
      )}
      <Deletion organization={organization} isDefault={isDefault} project={project} />
    </div>
  )
}

function GeneralSettings({ project }: { project: Project }) {
  const { name, description, permissions } = project.attributes
  const update = useUpdateProject(project.id)
  const draft = useDraft({ name, description: description ?? '' })
  return (
    <SettingsForm
      title="General"
      readOnly={
        !permissions['can-update'] && (
          <DescriptionList
            facts={[
              ['Name', name],
              ['Description', description || 'none'],
            ]}
          />
        )
      }
      names={['name', 'description']}
      draft={draft}
      onSave={async () => {
        const { description: text, ...changed } = draft.changed
        await update.mutateAsync({
          attributes: { ...changed, ...(text !== undefined && { description: text || null }) },
        })
      }}
    >
      <TextField
        label="Name"
        hint={
          draft.changed.name === undefined
            ? 'Letters, numbers, spaces, underscores and hyphens.'
            : 'Update the cloud block of every configuration that names this project.'
        }
        {...draft.text('name')}
        autoComplete="off"
      />
      <TextArea label="Description" rows={2} maxLength={256} {...draft.text('description')} />
    </SettingsForm>
  )
}

function ExecutionSettings({ organization, project }: { organization: string; project: Project }) {
  const { attributes, relationships } = project
  const { 'default-execution-mode': mode, 'setting-overwrites': overwrites, permissions } = attributes
  const update = useUpdateProject(project.id)
  const { data: pools = [], isPending } = useAgentPools(organization)
  const inherited = useOrganization(organization).data?.attributes['default-execution-mode']
  const poolId = relationships['default-agent-pool'].data?.id ?? ''
  const draft = useDraft<{ mode: Mode | ''; poolId: string }>({
    mode: overwrites['default-execution-mode'] ? mode : '',
    poolId: overwrites['default-execution-mode'] ? poolId : '',
  })
  const { values } = draft
  const pool = pools.find(({ id }) => id === poolId)?.name

  /** The mode and its pool are sent together, since the server rejects one without the other. */
  async function save() {
    const isOwn = values.mode !== ''
    await update.mutateAsync({
      attributes: isOwn
        ? { 'default-execution-mode': values.mode as Mode }
        : { 'setting-overwrites': { 'default-execution-mode': false, 'default-agent-pool': false } },
      relationships:
        values.mode === 'agent' && values.poolId !== ''
          ? { 'default-agent-pool': { data: { type: 'agent-pools', id: values.poolId } } }
          : {},
    })
  }
  return (
    <SettingsForm
      title="Default execution mode"
      about="For workspaces of the project that inherit it."
      readOnly={
        !permissions['can-update'] && (
          <DescriptionList
            facts={[
              ['Execution mode', MODES[mode].text],
              ['Agent pool', pool],
            ]}
          />
        )
      }
      names={['default-execution-mode', /^\/data\/relationships\/default-agent-pool/]}
      draft={draft}
      onSave={save}
    >
      <RadioField
        label="Execution mode"
        name="default-execution-mode"
        value={values.mode}
        onChange={(value) => draft.set({ mode: value })}
        options={[
          {
            value: '',
            text: inherited
              ? `Inherit from organization: ${MODES[inherited].text.toLowerCase()}`
              : 'Inherit from organization',
            about: 'Follows changes there.',
          },
          ...(Object.keys(MODES) as Mode[]).map((value) => ({
            value,
            ...MODES[value],
            ...(value === 'agent' &&
              values.mode !== 'agent' &&
              pools.length === 0 &&
              !isPending && { reason: 'No agent pools are available to you.' }),
          })),
        ]}
      />
      {values.mode === 'agent' && (
        <SelectField
          label="Agent pool"
          options={[
            ...(values.poolId === '' ? [['', 'Select a pool'] as const] : []),
            ...pools.map(({ id, name, online }) => [id, `${name} (${online} online)`] as const),
          ]}
          value={values.poolId}
          onChange={({ target }) => draft.set({ poolId: target.value })}
          error={
            fieldError(draft.error, 'default-execution-mode') ??
            errorAt(draft.error, '/data/relationships/default-agent-pool')
          }
        />
      )}
    </SettingsForm>
  )
}

function Deletion({ organization, isDefault, project }: Omit<SettingsProps, 'tags'>) {
  const { name, permissions, 'workspace-count': count } = project.attributes
  const remove = useDeleteAndLeave()
  if (isDefault) {
    return (
      <Card title="Delete project">
        <p className="text-dim">This is the organization’s default project, which can’t be deleted.</p>
      </Card>
    )
  }
  if (!permissions['can-destroy']) return null
  return (
    <Card
      title="Delete project"
      tone="bad"
      about={
        count === 0 ? (
          'Its settings, tags and variable sets are deleted, and its teams lose access.'
        ) : (
          <>
            It has{' '}
            <ListLink list="workspaces" search={{ project: project.id }} className="text-accent underline">
              {counted(count, 'workspace')}
            </ListLink>
            : move or delete {count === 1 ? 'it' : 'them'} first.
          </>
        )
      }
    >
      {count > 0 ? (
        <Button
          label="Delete project"
          icon={Trash2}
          kind="danger"
          reason={`it has ${counted(count, 'workspace')}: move or delete ${count === 1 ? 'it' : 'them'} first`}
        />
      ) : (
        <Confirm
          label="Delete project"
          icon={Trash2}
          title={`Delete ${name}?`}
          consequence="Variable sets that belong to the project are deleted too. This can’t be undone."
          typedName={name}
          action={`Delete ${name}`}
          onConfirm={async () =>
            remove({
              path: `/projects/${project.id}`,
              name,
              target: { to: '/app/$organization/projects', params: { organization } },
              own: ['projects', project.id],
              affected: [['projects', organization]],
            })
          }
        />
      )}
    </Card>
  )
}
