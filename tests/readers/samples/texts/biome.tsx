export const Kingfisher = ({ level }: { level: number }) => (
	<p title="über Nacht">Level {level}</p>
);
