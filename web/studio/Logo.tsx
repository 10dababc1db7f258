export function Logo({ size = 22 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="var(--accent)" />
      <circle cx="16" cy="16" r="9" fill="none" stroke="var(--on-accent)" strokeWidth="2.4" />
      <rect x="12.4" y="12.4" width="7.2" height="7.2" rx="1" fill="var(--on-accent)" />
    </svg>
  )
}
