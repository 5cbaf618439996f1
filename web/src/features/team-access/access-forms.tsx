import type { ComponentProps, ReactNode } from 'react'
import { useState } from 'react'
import { CheckField, RadioField, SelectField } from '../../components/form.tsx'
import { InlineForm } from '../../components/inline-form.tsx'
import {
  FLAGS,
  LEVELS,
  PARTS,
  PROJECT_FLAGS,
  PROJECT_LEVELS,
  PROJECT_PARTS,
  type ProjectAccess,
  type TeamAccess,
} from './access-text.ts'

export type AccessFormProps<Access> = Pick<ComponentProps<typeof InlineForm>, 'action' | 'mutation' | 'onCancel'> & {
  /** Undefined for a new team. */
  saved: Access | undefined
  /** Receives the attributes to send: individual permissions only for custom access, as the server requires. */
  onSubmit: (attributes: object) => void
}

const WORKSPACE_MINIMUM: Omit<TeamAccess, 'sentinel-mocks'> = {
  access: 'read',
  runs: 'read',
  variables: 'none',
  'state-versions': 'none',
  'run-tasks': false,
  'policy-overrides': false,
  'workspace-locking': false,
}

export function WorkspaceAccessForm({ saved, onSubmit, ...form }: AccessFormProps<TeamAccess>) {
  const [access, setAccess] = useState(saved ?? WORKSPACE_MINIMUM)
  const set = (change: Partial<TeamAccess>) => setAccess({ ...access, ...change })
  const submit = () =>
    onSubmit(
      access.access === 'custom'
        ? pick(access, ['access', ...keysOf(PARTS), ...keysOf(FLAGS)])
        : pick(access, ['access']),
    )
  return (
    <LevelForm
      {...form}
      levels={LEVELS}
      level={access.access}
      onLevel={(level) => set({ access: level })}
      onSubmit={submit}
    >
      <Permissions parts={PARTS} flags={FLAGS} values={access} onChange={set} />
    </LevelForm>
  )
}

const PROJECT_MINIMUM = {
  access: 'read',
  'project-access': { settings: 'read', teams: 'none', 'variable-sets': 'none' },
  'workspace-access': {
    runs: 'read',
    variables: 'none',
    'state-versions': 'none',
    'run-tasks': false,
    'policy-overrides': false,
    create: false,
    move: false,
    locking: false,
    delete: false,
  },
} as const

type ProjectDraft = Pick<ProjectAccess, 'access' | 'project-access'> & {
  'workspace-access': Omit<ProjectAccess['workspace-access'], 'sentinel-mocks'>
}

export function ProjectAccessForm({ saved, onSubmit, ...form }: AccessFormProps<ProjectAccess>) {
  const [access, setAccess] = useState<ProjectDraft>(saved ?? PROJECT_MINIMUM)
  const { 'project-access': ofProject, 'workspace-access': ofWorkspaces } = access
  const submit = () =>
    onSubmit(
      access.access === 'custom'
        ? {
            access: access.access,
            'project-access': ofProject,
            'workspace-access': pick(ofWorkspaces, [...keysOf(PARTS), ...keysOf(PROJECT_FLAGS)]),
          }
        : { access: access.access },
    )
  return (
    <LevelForm
      {...form}
      levels={PROJECT_LEVELS}
      level={access.access}
      onLevel={(level) => setAccess({ ...access, access: level })}
      onSubmit={submit}
    >
      <p className="font-medium text-dim">On the project</p>
      <Permissions
        parts={PROJECT_PARTS}
        flags={{}}
        values={ofProject}
        onChange={(change) => setAccess({ ...access, 'project-access': { ...ofProject, ...change } })}
      />
      <p className="font-medium text-dim">On its workspaces</p>
      <Permissions
        parts={PARTS}
        flags={PROJECT_FLAGS}
        values={ofWorkspaces}
        onChange={(change) => setAccess({ ...access, 'workspace-access': { ...ofWorkspaces, ...change } })}
      />
    </LevelForm>
  )
}

type LevelFormProps<Level extends string> = Pick<
  ComponentProps<typeof InlineForm>,
  'action' | 'mutation' | 'onCancel'
> & {
  levels: Readonly<Record<Level, { text: string; about: string }>>
  level: Level
  onLevel: (level: Level) => void
  onSubmit: () => void
  /** The fields of custom access. */
  children: ReactNode
}

function LevelForm<Level extends string>({ levels, level, onLevel, children, ...form }: LevelFormProps<Level>) {
  return (
    <InlineForm {...form}>
      <RadioField
        label="Access level"
        name="access"
        value={level}
        onChange={(value) => onLevel(value as Level)}
        options={keysOf(levels).map((value) => ({ value, ...levels[value] }))}
      />
      {level === 'custom' && <div className="space-y-3 border-l-2 border-line pl-4">{children}</div>}
    </InlineForm>
  )
}

type Parts = Readonly<Record<string, { text: string; choices: Readonly<Record<string, string>> }>>
type Flags = Readonly<Record<string, string>>
type PermissionsProps<P extends Parts, F extends Flags> = {
  parts: P
  flags: F
  values: Readonly<Record<keyof P & string, string> & Record<keyof F & string, boolean>>
  onChange: (change: Record<string, never>) => void
}

function Permissions<P extends Parts, F extends Flags>({ parts, flags, values, onChange }: PermissionsProps<P, F>) {
  const change = (name: string, value: string | boolean) => onChange({ [name]: value } as Record<string, never>)
  return (
    <>
      {Object.entries(parts).map(([name, { text, choices }]) => (
        <SelectField
          key={name}
          label={text}
          value={values[name]}
          onChange={({ target }) => change(name, target.value)}
          options={Object.entries(choices)}
        />
      ))}
      {Object.entries(flags).map(([name, text]) => (
        <CheckField
          key={name}
          label={text}
          checked={values[name]}
          onChange={({ target }) => change(name, target.checked)}
        />
      ))}
    </>
  )
}

function keysOf<T extends object>(table: T) {
  return Object.keys(table) as (keyof T & string)[]
}

function pick<T extends object>(values: T, names: readonly (keyof T)[]) {
  return Object.fromEntries(names.map((name) => [name, values[name]]))
}
