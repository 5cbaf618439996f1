import { Link, type LinkProps, useNavigate } from '@tanstack/react-router'
import type { AnchorHTMLAttributes, Ref } from 'react'

/**
 * Where a link leads, for what takes links as data: menus, tabs, the way to a page. It is looser than the router's own type,
 * which depends on every route and so can't be imported by components of routes.
 */
export type Target = { to: string; params?: Record<string, string>; search?: Record<string, string | number | boolean> }

export function TargetLink({
  leadsTo,
  exact = false,
  ...props
}: AnchorHTMLAttributes<HTMLAnchorElement> & { leadsTo: Target; exact?: boolean; ref?: Ref<HTMLAnchorElement> }) {
  return <Link {...(leadsTo as LinkProps)} activeOptions={{ exact, includeSearch: false }} {...props} />
}

/** Goes to a target. */
export function useGo() {
  const navigate = useNavigate()
  return (target: Target) => void navigate(target as Parameters<typeof navigate>[0])
}
