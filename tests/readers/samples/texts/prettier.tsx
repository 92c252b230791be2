export const Kingfisher = ({ level }: { level: number }) => (
  <p>
    Kingfisher <b>{level}</b>
  </p>
);
