import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { includedOf } from '../../api/queries.ts'
import { DescriptionList } from '../../components/card.tsx'
import { CODE_INPUT, TextArea, TextField } from '../../components/form.tsx'
import { FieldAlert } from '../../components/inline-form.tsx'
import { ProjectLink } from '../../components/links.tsx'
import { type Choice, Picker } from '../../components/picker.tsx'
import { SettingsForm, errorAt, useDraft } from '../../components/settings-form.tsx'
import { useOpenWorkspace, useUpdateWorkspace } from './workspace.ts'
import { findProjects } from './workspaces.ts'

export function GeneralSettings() {
  const { organization, document, workspace } = useOpenWorkspace()
  const { attributes, relationships } = workspace
  const project = includedOf(document).one('projects', relationships.project)
  const update = useUpdateWorkspace(organization)
  const navigate = useNavigate()
  const draft = useDraft({
    name: attributes.name,
    description: attributes.description ?? '',
    project: relationships.project.data?.id ?? '',
  })
  const [selected, setSelected] = useState<Choice>()
  const projectName = selected?.value === draft.values.project ? selected.text : project?.attributes.name

  async function save() {
    const { name, description, project: projectId } = draft.changed
    const { data } = await update.mutateAsync({
      id: workspace.id,
      attributes: {
        ...(name !== undefined && { name: name.trim() }),
        ...(description !== undefined && { description: description.trim() || null }),
      },
      ...(projectId !== undefined && { relationships: { project: { data: { type: 'projects', id: projectId } } } }),
    })
    draft.reset()
    if (data.attributes.name !== attributes.name)
      await navigate({
        to: '/app/$organization/workspaces/$workspace/settings',
        params: { organization, workspace: data.attributes.name },
        replace: true,
        ignoreBlocker: true,
      })
  }

  return (
    <SettingsForm
      title="General"
      readOnly={
        !attributes.permissions['can-update'] && (
          <DescriptionList
            facts={[
              ['Name', attributes.name],
              ['Description', attributes.description || 'none'],
              ['Project', project && <ProjectLink key="project" id={project.id} name={project.attributes.name} />],
            ]}
          />
        )
      }
      names={['name', 'description', /^\/data\/relationships\/project/]}
      draft={draft}
      onSave={save}
    >
      <TextField
        label="Name"
        hint={
          draft.changed.name === undefined
            ? 'Letters, numbers, underscores and hyphens.'
            : 'Update the cloud block of every configuration that names this workspace.'
        }
        {...draft.text('name')}
        {...CODE_INPUT}
      />
      <TextArea label="Description" rows={2} {...draft.text('description')} />
      <div>
        <p className="font-medium">Project</p>
        <div className="mt-1 flex flex-wrap items-center gap-2">
          {projectName !== undefined && <ProjectLink id={draft.values.project} name={projectName} />}
          {project?.attributes.permissions['can-move-workspace'] && (
            <Picker
              label="Move to another project"
              size="small"
              placeholder="Project name"
              about={['projects', organization]}
              load={findProjects(organization, { permission: 'create-workspace' })}
              onChoose={(choice) => {
                setSelected(choice)
                draft.set({ project: choice.value })
              }}
            />
          )}
        </div>
        {draft.changed.project !== undefined && (
          <p className="mt-1 text-warn">
            Teams of {project?.attributes.name} lose access and teams of {projectName} gain it. Variable sets and
            inherited settings change too.
          </p>
        )}
        <FieldAlert text={errorAt(draft.error, '/data/relationships/project')} />
      </div>
    </SettingsForm>
  )
}
