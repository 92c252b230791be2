export const Kingfisher = ({ level }) => /* @__PURE__ */ React.createElement("p", { title: "über Nacht" }, "Level ", level);
