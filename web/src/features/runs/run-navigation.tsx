import { getRouteApi, Link } from '@tanstack/react-router'
import { type AnchorHTMLAttributes, type ReactNode, useCallback } from 'react'

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

type RunLinkProps = { organization: string; workspace: string; run: string; className?: string; children: ReactNode }

export function RunLink({ organization, workspace, run, ...props }: RunLinkProps) {
  return (
    <Link
      to="/app/$organization/workspaces/$workspace/runs/$run"
      params={{ organization, workspace, run }}
      {...props}
    />
  )
}

type TabLinkProps = {
  search: RunSearch
  hash?: string | undefined
  /** Keeps the other search parameters. */
  isMerged?: boolean
  replace?: boolean
} & Pick<AnchorHTMLAttributes<HTMLAnchorElement>, 'className' | 'children' | 'aria-current'>

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
