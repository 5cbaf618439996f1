import type { DocumentOnWire } from '@groundstate/contract/responses'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { getData, request } from '../../api/client.ts'
import { invalidate } from '../../api/queries.ts'
import { Notice } from '../../components/feedback.tsx'
import { CODE_INPUT, RadioField, SelectField, TextField, fieldError } from '../../components/form.tsx'
import { WorkspaceLink } from '../../components/links.tsx'
import { Picker } from '../../components/picker.tsx'
import { nameProblem, newWorkspaceBody, useCreatableProjects } from './new-workspace.ts'
import type { WorkspaceResource } from './workspace.ts'
import { findWorkspaces } from './workspaces.ts'

type Draft = { kind: 'new' | 'existing'; name: string; projectId: string | undefined; id: string | undefined }

/**
 * State of the choice between a new and an existing workspace. `given` is the only choice where a page has a workspace;
 * `suggestion` is a name for a new one, of any characters.
 */
export function useTargetWorkspace(organization: string, given: WorkspaceResource | undefined, suggestion = '') {
  const projects = useCreatableProjects(organization)
  const mayCreate = (projects.data?.length ?? 0) > 0
  const [draft, setDraft] = useState<Partial<Draft>>({})
  // A workspace that was created before a later step failed.
  const [created, setCreated] = useState<WorkspaceResource>()
  const { kind = projects.data === undefined || mayCreate ? 'new' : 'existing', id } = draft
  const name = draft.name ?? suggestion.replaceAll(/[^A-Za-z0-9_-]+/g, '-').slice(0, 90)
  const project =
    projects.data?.find((each) => each.id === draft.projectId) ??
    projects.data?.find((each) => each.name === 'Default Project') ??
    projects.data?.[0]
  const chosen = useQuery({
    queryKey: ['workspaces', id, 'target'],
    enabled: id !== undefined && !given,
    queryFn: async () => getData<DocumentOnWire<typeof workspaceSchema>>(`/workspaces/${id}`),
  }).data
  const existing = given ?? created ?? (kind === 'existing' ? chosen : undefined)
  const problem = existing
    ? undefined
    : kind === 'existing'
      ? 'select a workspace'
      : name === ''
        ? 'enter a name for the workspace'
        : nameProblem(name)

  /** Returns the workspace, after creating it if it is new. */
  async function resolve(attributes: { 'working-directory'?: string } = {}): Promise<WorkspaceResource> {
    if (existing) return existing
    const form = newWorkspaceBody({
      name,
      description: '',
      projectId: project?.id,
      mode: '',
      poolId: '',
      engineVersion: '',
      isAutoApply: false,
    })
    Object.assign(form.data.attributes, attributes)
    const path = `/organizations/${organization}/workspaces`
    const { data } = await request<DocumentOnWire<typeof workspaceSchema>>('POST', path, form)
    setCreated(data)
    await invalidate(['workspaces', organization], ['overview', organization], ['projects', organization])
    return data
  }
  const isFixed = given !== undefined || created !== undefined
  return {
    organization,
    draft: { kind, name, id },
    set: setDraft,
    existing,
    created,
    project,
    projects,
    mayCreate,
    isFixed,
    problem,
    resolve,
  }
}
export type TargetWorkspace = ReturnType<typeof useTargetWorkspace>

/** Fields to choose a new or an existing workspace; the name alone if there is nothing to choose. */
export function TargetWorkspaceFields({ target, error }: { target: TargetWorkspace; error: Error | null }) {
  const { organization, draft, set, existing, created, project, projects, mayCreate, isFixed } = target
  if (created)
    return (
      <Notice>
        The workspace <WorkspaceLink workspace={created.attributes.name} className="font-medium underline" /> was
        created, and is used for the next attempt.
      </Notice>
    )
  if (isFixed)
    return (
      <p>
        Workspace <b className="font-medium">{existing?.attributes.name}</b>
      </p>
    )
  const problem = nameProblem(draft.name) ?? fieldError(error, 'name')
  const change = (changes: Partial<Draft>) => set((before) => ({ ...before, ...changes }))
  return (
    <>
      <RadioField
        label="Workspace"
        name="target"
        value={draft.kind}
        onChange={(kind) => change({ kind: kind === 'new' ? 'new' : 'existing' })}
        options={[
          {
            value: 'new',
            text: 'New workspace',
            reason: mayCreate ? undefined : 'You don’t have permission to create workspaces.',
          },
          { value: 'existing', text: 'Existing workspace' },
        ]}
      />
      {draft.kind === 'new' && (
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="Name"
            value={draft.name}
            onChange={({ target: { value } }) => change({ name: value })}
            error={problem}
            {...CODE_INPUT}
          />
          {(projects.data?.length ?? 0) > 1 && (
            <SelectField
              label="Project"
              options={(projects.data ?? []).map(({ id, name }) => [id, name] as const)}
              value={project?.id}
              onChange={({ target: { value } }) => change({ projectId: value })}
            />
          )}
        </div>
      )}
      {draft.kind === 'existing' && (
        <div className="flex flex-wrap items-center gap-2">
          <Picker
            label={draft.id === undefined ? 'Select workspace' : 'Change workspace'}
            placeholder="Workspace name"
            about={['workspaces', organization]}
            load={findWorkspaces(organization)}
            onChoose={({ value }) => change({ id: value })}
          />
          {existing && <span className="font-medium">{existing.attributes.name}</span>}
        </div>
      )}
    </>
  )
}
