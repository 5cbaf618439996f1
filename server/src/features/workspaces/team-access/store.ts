import { teamProjects, teamWorkspaces } from '@groundstate/contract/team-access'
import { type Selectable, sql } from 'kysely'
import type { AccessContext } from '../../../auth/access-context.ts'
import { CUSTOM_PROJECT, CUSTOM_WORKSPACE, PROJECT_LEVELS, WORKSPACE_LEVELS } from '../../../auth/grants.ts'
import { type Db, type Page, type Tx, pageOffset } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { containing } from '../../../db/sql.ts'
import { invalid } from '../../../errors.ts'
import { raiseAccessRevision } from '../../organizations/organizations/store.ts'
import { MEMBERSHIP_TEAMS } from '../../organizations/teams/store.ts'
import { countRows } from '../workspaces/store.ts'

type NewGrant = GrantRow & { created_at: Date }
type GrantRow = NewAccess & { id: string; team_id: string; subject_id: string }

const columns = ({ subjectColumn }: GrantKind) => sql`*, ${sql.ref(subjectColumn)} as subject_id`

export async function findGrant(db: Db, kind: GrantKind, id: string) {
  const query = sql<GrantRow>`select ${columns(kind)} from ${sql.table(kind.table)} where id = ${id}`
  return (await query.execute(db)).rows[0]
}

type GrantFilter = {
  subjectId: string
  teamId: string | undefined
  /** Only grants of this user's teams; undefined for all. */
  ofUser: string | undefined
  /** Undefined for the whole list. */
  page: Page | undefined
}

export async function listGrants(db: Db, kind: GrantKind, { subjectId, teamId, ofUser, page }: GrantFilter) {
  const matching = sql`${sql.table(kind.table)} g where ${sql.ref(kind.subjectColumn)} = ${subjectId}
    ${teamId === undefined ? sql`` : sql`and team_id = ${teamId}`}
    ${ofUser === undefined ? sql`` : sql`and exists (select from team_members m where m.team_id = g.team_id and m.user_id = ${ofUser})`}`
  const ordered = sql`select ${columns(kind)} from ${matching} order by created_at, id`
  if (!page) {
    const { rows } = await sql<GrantRow>`${ordered}`.execute(db)
    return { rows, total: rows.length }
  }
  const [{ rows }, total] = await Promise.all([
    sql<GrantRow>`${ordered} limit ${page.size} offset ${pageOffset(page)}`.execute(db),
    countRows(db, matching),
  ])
  return { rows, total }
}

type TeamsGrants = {
  /** One team, or the teams of a member or invited person in their organization. */
  of: { teamId: string } | { membershipId: string }
  /** Only grants that this user may see: those of their teams, and those where they manage or read team access; undefined for all. */
  visibleTo: string | undefined
  q: string | undefined
  page: Page
}

/** The grants of teams by the name of their subject, with what identifies it. */
export async function listGrantsOfTeams(db: Db, kind: GrantKind, { of, visibleTo, q, page }: TeamsGrants) {
  const subject = sql.ref(kind.subjectColumn)
  const teams =
    'teamId' in of ? sql`(${of.teamId})` : sql`(select t.id from ${MEMBERSHIP_TEAMS} where m.id = ${of.membershipId})`
  const isVisible = sql`and (
      exists (select from team_members mine where mine.team_id = g.team_id and mine.user_id = ${visibleTo})
      or exists (select from team_members mine join ${sql.table(kind.table)} my_grant on my_grant.team_id = mine.team_id
                  where mine.user_id = ${visibleTo} and my_grant.${subject} = g.${subject} and (${READS_GRANTS[kind.noun]}))
      ${
        kind.noun === 'project'
          ? sql``
          : sql`or exists (select from team_members mine join team_projects my_grant on my_grant.team_id = mine.team_id
                  where mine.user_id = ${visibleTo} and my_grant.project_id = s.project_id and my_grant.access in ('maintain', 'admin'))`
      })`
  const matching = sql`${sql.table(kind.table)} g
      join ${sql.table(`${kind.noun}s`)} s on s.id = g.${subject} join organizations o on o.id = s.organization_id
     where g.team_id in ${teams}
       ${q === undefined ? sql`` : sql`and s.name ilike ${containing(q)}`}
       ${visibleTo === undefined ? sql`` : isVisible}`
  const { rows } = await sql<GrantRow & { subject_name: string; organization_name: string }>`
    select g.*, g.${subject} as subject_id, s.name as subject_name, o.name as organization_name
      from ${matching} order by s.name, g.id limit ${page.size} offset ${pageOffset(page)}`.execute(db)
  return { rows, total: await countRows(db, matching) }
}

/** Grants `my_grant` with which a user reads the grants of others, as in `workspacePermissions` and `projectPermissions`. */
const READS_GRANTS = {
  workspace: sql`my_grant.access = 'admin'`,
  project: sql`my_grant.access = 'admin' or (my_grant.access = 'custom' and my_grant.project_teams <> 'none')`,
} as const

export async function isTeamMember(db: Db, teamId: string, userId: string) {
  const { rows } = await sql`select from team_members where team_id = ${teamId} and user_id = ${userId}`.execute(db)
  return rows.length > 0
}

export async function insertGrant(tx: Tx, kind: GrantKind, { subject_id: subjectId, ...rest }: NewGrant) {
  const row = { ...rest, [kind.subjectColumn]: subjectId }
  const names = Object.keys(row).map((name) => sql.ref(name))
  const { rows } = await sql<GrantRow>`insert into ${sql.table(kind.table)} (${sql.join(names)})
    values (${sql.join(Object.values(row))}) returning ${columns(kind)}`.execute(tx)
  await raiseAccessRevision(tx, { teamIds: [rest.team_id] })
  const [inserted] = rows
  if (!inserted) throw new Error('an insert has returned no row')
  return inserted
}

export type NewAccess = GrantColumns & { access: string }
type GrantChange = { id: string; changes: NewAccess }

export async function updateGrant(db: Db, kind: GrantKind, { id, changes }: GrantChange) {
  const changed = Object.entries(changes).map(([name, value]) => sql`${sql.ref(name)} = ${value}`)
  const { rows } = await sql<GrantRow>`update ${sql.table(kind.table)} set ${sql.join(changed)} where id = ${id}
    returning ${columns(kind)}`.execute(db)
  return rows[0]
}

export async function deleteGrant(tx: Tx, kind: GrantKind, id: string) {
  const { rows } = await sql<{ team_id: string }>`delete from ${sql.table(kind.table)} where id = ${id}
    returning team_id`.execute(tx)
  const [deleted] = rows
  if (deleted) await raiseAccessRevision(tx, { teamIds: [deleted.team_id] })
}

/** The workspace or project of a grant; `path` is its API path. */
export type GrantSubject = {
  id: string
  organizationId: string
  path: string
  seesAllGrants: boolean
  access: AccessContext
}

export type Grant = GrantRow & { subject: GrantSubject }
export type ShownGrant = GrantRow & { subject: Pick<GrantSubject, 'id' | 'path'> }

export type GrantInput = { access?: string }

/** The columns of a grant after `input`. Changing a part of a fixed level is `invalid`, with the message of the public API. */
export function grantColumns(
  { parts, levels, custom }: GrantKind,
  input: GrantInput & { access: string },
  current?: GrantColumns,
): GrantColumns {
  const { access } = input
  const level = levels[access]
  const columns = parts.map(([column, path, label]) => {
    const value = attributeAt(input, path)
    if (level === undefined) return [column, value ?? current?.[column] ?? custom[column]]
    if (value === undefined || value === level[column]) return [column, level[column]]
    throw invalid(
      `${label} is read-only when access level is '${access}'; use the 'custom' access level to set this attribute.`,
      `/data/attributes/${path}`,
    )
  })
  return Object.fromEntries(columns) as GrantColumns
}

function attributeAt(attributes: unknown, path: string) {
  return path
    .split('/')
    .reduce<unknown>((value, name) => (value as Readonly<Record<string, unknown>> | undefined)?.[name], attributes)
}

export function grantAttributes({ parts }: GrantKind, columns: GrantColumns) {
  const attributes: Record<string, unknown> = {}
  for (const [column, path] of parts) {
    const [first = '', second] = path.split('/')
    if (second === undefined) attributes[first] = columns[column]
    else attributes[first] = { ...(attributes[first] as object | undefined), [second]: columns[column] }
  }
  return attributes
}

/** The columns of custom access; a grant on a workspace has some of them. */
type GrantColumns = Partial<
  Omit<Selectable<Schema['team_projects']>, 'id' | 'team_id' | 'project_id' | 'access' | 'created_at'>
>

/** A part of custom access: its column, its path in the attributes, and its name in messages. */
type Part = readonly [column: keyof GrantColumns, path: string, label: string]

type Level = Readonly<Record<string, string | boolean>>

export type GrantKind = {
  noun: 'workspace' | 'project'
  schemas: typeof teamWorkspaces | typeof teamProjects
  table: 'team_workspaces' | 'team_projects'
  subjectColumn: 'workspace_id' | 'project_id'
  idPrefix: string
  parts: readonly Part[]
  /** The initial values of custom access. */
  custom: Level
  levels: Readonly<Record<string, Level>>
}

export const GRANT_KINDS = {
  workspace: {
    noun: 'workspace',
    schemas: teamWorkspaces,
    table: 'team_workspaces',
    subjectColumn: 'workspace_id',
    idPrefix: 'tws',
    parts: [
      ['runs', 'runs', 'Runs'],
      ['variables', 'variables', 'Variables'],
      ['state_versions', 'state-versions', 'State versions'],
      ['sentinel_mocks', 'sentinel-mocks', 'Sentinel mocks'],
      ['workspace_locking', 'workspace-locking', 'Workspace locking'],
      ['run_tasks', 'run-tasks', 'Run tasks'],
      ['policy_overrides', 'policy-overrides', 'Policy overrides'],
    ],
    custom: CUSTOM_WORKSPACE,
    levels: WORKSPACE_LEVELS,
  },
  project: {
    noun: 'project',
    schemas: teamProjects,
    table: 'team_projects',
    subjectColumn: 'project_id',
    idPrefix: 'tprj',
    parts: [
      ['project_settings', 'project-access/settings', 'Project settings'],
      ['project_teams', 'project-access/teams', 'Project teams'],
      ['project_variable_sets', 'project-access/variable-sets', 'Project variable sets'],
      ['workspace_create', 'workspace-access/create', 'Workspace create'],
      ['workspace_move', 'workspace-access/move', 'Workspace move'],
      ['workspace_locking', 'workspace-access/locking', 'Workspace locking'],
      ['workspace_delete', 'workspace-access/delete', 'Workspace delete'],
      ['runs', 'workspace-access/runs', 'Workspace runs'],
      ['variables', 'workspace-access/variables', 'Workspace variables'],
      ['state_versions', 'workspace-access/state-versions', 'Workspace state versions'],
      ['sentinel_mocks', 'workspace-access/sentinel-mocks', 'Workspace sentinel mocks'],
      ['run_tasks', 'workspace-access/run-tasks', 'Workspace run tasks'],
      ['policy_overrides', 'workspace-access/policy-overrides', 'Workspace policy overrides'],
    ],
    custom: CUSTOM_PROJECT,
    levels: PROJECT_LEVELS,
  },
} as const satisfies { [Noun in GrantKind['noun']]: GrantKind & { noun: Noun } }
