import { getRouteApi, Link, useParams } from '@tanstack/react-router'
import { type ComponentProps, useCallback } from 'react'
import { runTitle } from './run-text.ts'

export const runRoute = getRouteApi('/frame/app/$organization/workspaces/$workspace/runs/$run')

export type RunTab = 'changes' | 'log' | 'tasks' | 'timeline'
export type PhaseName = 'plan' | 'apply'
type RunSearch = ReturnType<typeof runRoute.useSearch>

/** The search parameters of the run page, and a function that changes some of them without adding a history entry. */
export function useRunSearch() {
  const navigate = runRoute.useNavigate()
  const change = useCallback(
    (values: RunSearch) =>
      void navigate({ search: (before) => ({ ...before, ...values }), replace: true, resetScroll: false }),
    [navigate],
  )
  return [runRoute.useSearch(), change] as const
}

type RunLinkProps = ComponentProps<'a'> & {
  workspace: string
  run: { id: string; attributes?: { message: string } }
  search?: { part: RunTab } | undefined
}

/** Link to a run of the current organization, by default with its title. */
export function RunLink({ workspace, run: { id, attributes }, search, children, ...props }: RunLinkProps) {
  const { organization = '' } = useParams({ strict: false })
  const params = { organization, workspace, run: id }
  return (
    <Link to="/app/$organization/workspaces/$workspace/runs/$run" params={params} search={search ?? {}} {...props}>
      {children ?? runTitle({ id, message: attributes?.message ?? '' })}
    </Link>
  )
}

type TabLinkProps = {
  search: RunSearch
  hash?: string | undefined
  /** Keeps the other search parameters. */
  isMerged?: boolean
  replace?: boolean
} & Pick<ComponentProps<'a'>, 'className' | 'children' | 'aria-current'>

/** Link to another tab of the open run; keeps the scroll position. */
export function TabLink({ search, hash, isMerged = false, ...props }: TabLinkProps) {
  return (
    <Link
      to="/app/$organization/workspaces/$workspace/runs/$run"
      params={runRoute.useParams()}
      search={isMerged ? (before) => ({ ...before, ...search }) : search}
      {...(hash !== undefined && { hash })}
      resetScroll={false}
      activeProps={{}}
      {...props}
    />
  )
}
